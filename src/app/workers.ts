import type { Cluster, Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { Logger } from '#lib/log.ts'
import { ConfigError } from './config/config-error.ts'
import type { Environment } from './config/environment.ts'
import type { Foundation } from './foundation.ts'

/** What the first process tells its workers. Secrets travel here and not through the environment. */
export type ToWorker =
  | {
      readonly kind: 'serve'
      readonly index: number
      readonly foundation: Pick<Foundation, 'address' | 'secret' | 'sandboxUrl'>
    }
  | { readonly kind: 'stop'; readonly hurry: boolean }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }

export type FromWorker =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'refused'; readonly problem: string }
  | { readonly kind: 'want-metrics'; readonly id: number }

export interface WorkerPool {
  readonly port: number
  stop(hurry: AbortSignal): Promise<void>
}

export interface WorkersOptions {
  readonly environment: Environment
  readonly log: Logger
  readonly foundation: Foundation
  readonly cluster: Cluster
}

const REVIVAL_MS = 1_000

/**
 * Runs `TOLLGATE_WORKERS` processes on one port. Each has its own journal under the data folder; one that dies is
 * started again in its place and replays what it left.
 *
 * @throws ConfigError when a worker could not start for a reason that the operator can mend
 */
export async function runWorkers({ environment, log, foundation, cluster }: WorkersOptions): Promise<WorkerPool> {
  const aggregator = new AggregatorRegistry()
  const workers = new Map<number, Worker>()
  let isStopping = false
  const { address, secret, sandboxUrl } = foundation
  const launch = (index: number): Promise<number> => {
    const worker = cluster.fork()
    workers.set(index, worker)
    tell(worker, { kind: 'serve', index, foundation: { address, secret, sandboxUrl } })
    worker.on('exit', (code, signal) => {
      if (isStopping) return
      log.error({ worker: index, code, signal }, 'worker.ended')
      setTimeout(() => void launch(index).catch(() => {}), REVIVAL_MS)
    })
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve(message.port)
        else if (message.kind === 'refused') reject(new ConfigError(message.problem))
        else if (message.kind === 'want-metrics') {
          const { id } = message
          void aggregator.clusterMetrics().then(text => tell(worker, { kind: 'metrics', id, text }))
        }
      })
      worker.once('exit', () => reject(new Error(`worker ${index} ended before it was ready`)))
    })
  }
  const stop = async (hurry?: AbortSignal): Promise<void> => {
    isStopping = true
    const ended = [...workers.values()].map(
      worker => new Promise<void>(done => (worker.isDead() ? done() : worker.once('exit', () => done()))),
    )
    for (const worker of workers.values()) tell(worker, { kind: 'stop', hurry: false })
    hurry?.addEventListener('abort', () => {
      for (const worker of workers.values()) tell(worker, { kind: 'stop', hurry: true })
    })
    await Promise.all(ended)
  }
  try {
    const [port = 0] = await Promise.all(Array.from({ length: environment.workers }, (_, index) => launch(index)))
    return { port, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message)
}

import { AggregatorRegistry } from 'prom-client'
import type { Logger } from '#lib/log.ts'
import { ConfigError } from './config/config-error.ts'
import type { Environment } from './config/environment.ts'
import { ServingNode } from './node.ts'
import type { FromWorker, ToWorker } from './workers.ts'

/** The life of one worker process: it serves what the first process hands it until that one says stop, or is gone. */
export function runWorker(environment: Environment, log: Logger): void {
  const hurry = new AbortController()
  const metrics = new MetricsRequests()
  // Listens for the first process' wish to add up what the workers count.
  new AggregatorRegistry()
  let node: ServingNode | undefined
  let isStopping = false
  const stop = async () => {
    if (isStopping) return
    isStopping = true
    await node?.stop(hurry.signal).catch(error => log.fatal({ cause: (error as Error).stack }, 'node.stop_failed'))
    process.exit(0)
  }
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'metrics') metrics.answer(message)
    else if (message.kind === 'stop') {
      if (message.hurry) hurry.abort()
      void stop()
    } else if (message.kind === 'serve') {
      try {
        const { foundation, index } = message
        node = await ServingNode.create({ environment, log, foundation, index, clusterMetrics: () => metrics.ask() })
        AggregatorRegistry.setRegistries([node.metrics])
        tell({ kind: 'ready', port: await node.start() })
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        tell({ kind: 'refused', problem: error.message })
        process.exit(1)
      }
    }
  })
  process.on('disconnect', () => void stop())
  // The first process decides: a signal to the whole group reaches it too.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {})
}

function tell(message: FromWorker): void {
  process.send?.(message)
}

/** Only the first process can add up all workers' metrics, so they are asked of it. */
class MetricsRequests {
  readonly #waiting = new Map<number, (text: string) => void>()
  #lastId = 0

  ask(): Promise<string> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise(resolve => {
      this.#waiting.set(id, resolve)
      tell({ kind: 'want-metrics', id })
    })
  }

  answer({ id, text }: { id: number; text: string }): void {
    this.#waiting.get(id)?.(text)
    this.#waiting.delete(id)
  }
}

import cluster from 'node:cluster'
import type { Logger } from '#lib/log.ts'
import { banner } from './banner.ts'
import { readCredentials, writeCredentials } from './bootstrap.ts'
import type { Environment } from './config/environment.ts'
import { type Foundation, layFoundation } from './foundation.ts'
import { ServingNode } from './node.ts'
import { runWorkers, type WorkerPool } from './workers.ts'

/**
 * Runs Tollgate until it is told to stop.
 *
 * @throws ConfigError when it cannot start for a reason that the operator can mend
 */
export async function start(environment: Environment, log: Logger): Promise<void> {
  const startedAtMs = performance.now()
  const foundation = await layFoundation(environment, log)
  let serving: Serving
  try {
    serving =
      environment.workers === 1
        ? await serveHere(environment, log, foundation)
        : await serveByWorkers(environment, log, foundation)
  } catch (error) {
    await foundation.stop()
    throw error
  }
  const baseUrl = `http://${environment.host.includes(':') ? `[${environment.host}]` : environment.host}:${serving.port}`
  await foundation.announce(baseUrl)
  const credentials = await keepCredentials(environment, foundation, baseUrl)
  const seconds = (performance.now() - startedAtMs) / 1000
  process.stdout.write(banner({ baseUrl, environment, foundation, credentials, seconds }))
  log.info({ url: baseUrl, seconds: Math.round(seconds * 100) / 100, workers: environment.workers }, 'tollgate.ready')
  stopOnSignals(serving, foundation, log)
}

/** Something that answers requests and can be stopped. */
export interface Serving {
  readonly port: number
  stop(hurry: AbortSignal): Promise<void>
}

async function serveHere(environment: Environment, log: Logger, foundation: Foundation): Promise<Serving> {
  const node = await ServingNode.create({ environment, log, foundation, index: 0 })
  const port = await node.start()
  return { port, stop: hurry => node.stop(hurry) }
}

async function serveByWorkers(environment: Environment, log: Logger, foundation: Foundation): Promise<WorkerPool> {
  return runWorkers({ environment, log, foundation, cluster })
}

/** Under which address the first tenant's key works may change from start to start; the file says the latest. */
async function keepCredentials(environment: Environment, foundation: Foundation, baseUrl: string) {
  const known = foundation.firstCredentials ?? (await readCredentials(environment.dataFolder))
  if (!known) return undefined
  const credentials = { ...known, base_url: baseUrl }
  await writeCredentials(environment.dataFolder, credentials)
  return credentials
}

/** The first signal drains, the second one does not wait for streams, the third one is the system's. */
function stopOnSignals(serving: Serving, foundation: Foundation, log: Logger): void {
  const hurry = new AbortController()
  let stopping: Promise<void> | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) return hurry.abort()
    log.info({ signal }, 'tollgate.stopping')
    stopping = serving
      .stop(hurry.signal)
      .then(() => foundation.stop())
      .then(
        () => process.exit(0),
        error => {
          log.fatal({ cause: (error as Error).stack }, 'tollgate.stop_failed')
          process.exit(1)
        },
      )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

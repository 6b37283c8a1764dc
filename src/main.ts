import cluster from 'node:cluster'
import { ConfigError } from '#app/config/config-error.ts'
import { readEnvironment } from '#app/config/environment.ts'
import { createLogger } from '#lib/log.ts'

if (cluster.isWorker) {
  const { runWorker } = await import('#app/worker.ts')
  const environment = readEnvironment()
  runWorker(environment, createLogger({ level: environment.logLevel }))
} else {
  try {
    const { createProgram } = await import('#cli/program.ts')
    await createProgram().parseAsync()
  } catch (error) {
    // What the operator can mend is said in a sentence; anything else needs its stack.
    process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
    process.exitCode = 1
  }
}

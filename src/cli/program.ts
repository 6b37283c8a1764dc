import { Command } from 'commander'
import { readEnvironment } from '#app/config/environment.ts'
import { createLogger } from '#lib/log.ts'
import { addAttempts } from './attempts.ts'
import { addCredit } from './credit.ts'
import { addDoctor } from './doctor.ts'
import { addKeys } from './keys.ts'
import { addModels } from './models.ts'
import { addOrgs } from './orgs.ts'
import { addReconcile } from './reconcile.ts'
import { addTokens } from './tokens.ts'

const ENVIRONMENT_HELP = `
Environment:
  HOST, PORT           where to listen (127.0.0.1, 8080; 0 = any free port)
  TOLLGATE_CONFIG      configuration file (./tollgate.yaml when present)
  TOLLGATE_DATA        data folder (./data)
  DATABASE_URL         an external Postgres 14 or newer (embedded when absent)
  TOLLGATE_SECRET      key-hashing secret, 32 characters or more (generated when absent)
  TOLLGATE_WORKERS     processes sharing the port (1)
  LOG_LEVEL            trace, debug, info, warn, error, fatal, silent (info)
`

/** The whole command line. */
export function createProgram(): Command {
  const program = new Command('tollgate')
    .description('A self-hosted model gateway: one address in front of every AI model provider.')
    .version('0.1.0')
    .addHelpText('after', ENVIRONMENT_HELP)
  program
    .command('start')
    .description('run the gateway')
    .action(async () => {
      // The server is most of the program; the other commands answer faster without it.
      const { start } = await import('#app/start.ts')
      const environment = readEnvironment()
      await start(environment, createLogger({ level: environment.logLevel }))
    })
  addDoctor(program)
  addOrgs(program)
  addKeys(program)
  addCredit(program)
  addTokens(program)
  addModels(program)
  addReconcile(program)
  addAttempts(program)
  return program
}

import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '#lib/backoff.ts'
import type { Logger } from '#lib/log.ts'
import { ensurePartitions } from '#metering/partitions.ts'
import { Sandbox } from '#sandbox/sandbox.ts'
import { type Database, type DatabaseAddress, openDatabase, ping } from '#storage/database.ts'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { migrate } from '#storage/migrate.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { bootstrap, type FirstCredentials, writeCredentials } from './bootstrap.ts'
import { ConfigError } from './config/config-error.ts'
import type { Environment } from './config/environment.ts'
import { DataLock } from './data-lock.ts'
import { guardSecret, loadSecret } from './secret.ts'
import { loadConfig } from './settings.ts'

/** What the processes that serve stand on. There is one for a data folder, however many workers there are. */
export interface Foundation {
  readonly address: DatabaseAddress
  readonly secret: string
  /** `undefined`: channels are configured. */
  readonly sandboxUrl: string | undefined
  /** Present when this start made the first tenant. */
  readonly firstCredentials: FirstCredentials | undefined
  /** Tells the next Tollgate that finds the folder locked where this one answers. */
  announce(url: string): Promise<void>
  /** Undoes everything in reverse. */
  stop(): Promise<void>
}

/**
 * Locks the data folder, checks the configuration, and brings the database up to date.
 *
 * @throws ConfigError with what the operator should do; nothing is left running then
 */
export async function layFoundation(environment: Environment, log: Logger): Promise<Foundation> {
  await using stack = new AsyncDisposableStack()
  const { dataFolder } = environment
  await makeDataFolder(dataFolder)
  const lock = await DataLock.acquire(dataFolder)
  stack.defer(() => lock.release())
  const config = await loadConfig({ ...environment, sandboxUrl: undefined })
  const secret = await loadSecret(environment.secret, dataFolder)
  let sandboxUrl: string | undefined
  if (config.isSandbox) {
    const sandbox = new Sandbox()
    sandboxUrl = await sandbox.start()
    stack.defer(() => sandbox.stop())
  }
  const address = await provideDatabase(environment, log, stack)
  const database = openDatabase(address, { connectionsMax: 1, onIdleError: () => {} })
  let firstCredentials: FirstCredentials | undefined
  try {
    await reach(database, environment)
    const applied = await migrate(database)
    if (applied.length > 0) log.info({ migrations: applied }, 'database.migrated')
    await guardSecret(database, secret)
    await ensurePartitions(database, new Date(), new Date())
    firstCredentials = await bootstrap(database, {
      hasher: new CredentialHasher(secret),
      credit: config.bootstrapCredit,
      keep: credentials => writeCredentials(dataFolder, { base_url: '', ...credentials }),
    })
  } finally {
    await database.destroy()
  }
  const built = stack.move()
  return {
    address,
    secret,
    sandboxUrl,
    firstCredentials,
    announce: url => lock.announce(url),
    stop: () => built.disposeAsync(),
  }
}

async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ConfigError(`The data folder ${folder} cannot be made: ${(error as Error).message}. Set TOLLGATE_DATA.`)
  }
}

async function provideDatabase(
  environment: Environment,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<DatabaseAddress> {
  if (environment.databaseUrl !== undefined) return { url: environment.databaseUrl }
  const server = new EmbeddedPostgres({
    dataFolder: environment.dataFolder,
    onExit: reason => {
      log.error({ reason }, 'database.ended')
      void revive(server, log)
    },
    onProgress: message => log.info(message),
  })
  stack.defer(() => server.stop())
  await server.start()
  return server.address
}

/** The embedded server ended by itself (killed, out of memory): nobody else will start it again. */
async function revive(server: EmbeddedPostgres, log: Logger): Promise<void> {
  for (let attempt = 0; !server.isStopping; attempt++) {
    await sleep(backoffMs(attempt, { firstMs: 200, maxMs: 10_000 }))
    try {
      await server.start()
      log.info('database.revived')
      return
    } catch (error) {
      log.error({ cause: (error as Error).message }, 'database.revival_failed')
    }
  }
}

async function reach(database: Database, { databaseUrl }: Environment): Promise<void> {
  try {
    await ping(database)
  } catch (error) {
    const what = databaseUrl === undefined ? 'The embedded database' : 'The database that DATABASE_URL names'
    throw new ConfigError(`${what} cannot be reached: ${(error as Error).message}`)
  }
}

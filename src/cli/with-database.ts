import { mkdir } from 'node:fs/promises'
import { type Environment, readEnvironment } from '#app/config/environment.ts'
import { DataLock } from '#app/data-lock.ts'
import { guardSecret, loadSecret } from '#app/secret.ts'
import { type Database, type DatabaseAddress, openDatabase, ping } from '#storage/database.ts'
import { EmbeddedPostgres, socketFolder } from '#storage/embedded/server.ts'
import { migrate } from '#storage/migrate.ts'
import { CredentialHasher } from '#tenants/credential.ts'

export interface CommandContext {
  readonly database: Database
  readonly hasher: CredentialHasher
  readonly environment: Environment
}

/**
 * Runs a command against the installation's database: the running server's, the one that `DATABASE_URL` names, or the
 * embedded one, started for the command's time when no server runs.
 */
export async function withDatabase(run: (context: CommandContext) => Promise<void>): Promise<void> {
  const environment = readEnvironment()
  await using stack = new AsyncDisposableStack()
  const address = await findDatabase(environment, stack)
  const database = openDatabase(address, { connectionsMax: 2, onIdleError: () => {} })
  stack.defer(() => database.destroy())
  await ping(database)
  await migrate(database)
  const secret = await loadSecret(environment.secret, environment.dataFolder)
  await guardSecret(database, secret)
  await run({ database, hasher: new CredentialHasher(secret), environment })
}

async function findDatabase(
  { databaseUrl, dataFolder }: ReturnType<typeof readEnvironment>,
  stack: AsyncDisposableStack,
): Promise<DatabaseAddress> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 })
  if (databaseUrl !== undefined) return { url: databaseUrl }
  if (await DataLock.isHeld(dataFolder)) return { socketFolder: socketFolder(dataFolder) }
  const lock = await DataLock.acquire(dataFolder)
  stack.defer(() => lock.release())
  const server = new EmbeddedPostgres({
    dataFolder,
    onExit: () => {},
    onProgress: message => process.stderr.write(`${message}\n`),
  })
  stack.defer(() => server.stop())
  await server.start()
  return server.address
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openDatabase } from '#storage/database.ts'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { migrate } from '#storage/migrate.ts'

/** One Postgres server for all test files. `TEST_DATABASE_URL` names its migrated template database. */
let folder: string
let server: EmbeddedPostgres

export async function globalSetup(): Promise<void> {
  folder = await mkdtemp(path.join(tmpdir(), 'tollgate-test-'))
  server = new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
  await server.start()
  const database = openDatabase(server.address, { connectionsMax: 1, onIdleError: () => {} })
  await migrate(database)
  await database.destroy()
  const { socketFolder } = server.address as { socketFolder: string }
  process.env.TEST_DATABASE_URL = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
}

export async function globalTeardown(): Promise<void> {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}

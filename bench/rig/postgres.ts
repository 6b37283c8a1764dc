import { readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { EmbeddedPostgres } from '../../src/storage/embedded/server.ts'

const POLITE = 10

/** A database of the bench's server, and a handle to look into it. */
export interface BenchDatabase {
  readonly url: string
  readonly handle: Database
}

/**
 * The embedded server that Tollgate would start itself, started here instead: like this it does not share the core of
 * the process that is measured.
 */
export class PostgresServer {
  readonly #socketFolder: string
  readonly #stack: AsyncDisposableStack
  #created = 0

  private constructor(socketFolder: string, stack: AsyncDisposableStack) {
    this.#socketFolder = socketFolder
    this.#stack = stack
  }

  static async start(dataFolder: string, stack: AsyncDisposableStack): Promise<PostgresServer> {
    const server = new EmbeddedPostgres({ dataFolder, onExit: () => {}, onProgress: () => {} })
    stack.defer(() => server.stop())
    await server.start()
    const pid = (await readFile(path.join(dataFolder, 'postgres/postmaster.pid'), 'utf8')).split('\n', 1)[0]
    // On two cores it shares one with the upstream and the load generator, which must not wait for it.
    setPriority(Number(pid), POLITE)
    return new PostgresServer((server.address as { socketFolder: string }).socketFolder, stack)
  }

  async createDatabase(): Promise<BenchDatabase> {
    this.#created += 1
    const name = `bench_${this.#created}`
    await using maintenance = new AsyncDisposableStack()
    const server = this.#open('postgres', maintenance)
    await sql`create database ${sql.id(name)}`.execute(server)
    return { url: this.#url(name), handle: this.#open(name, this.#stack) }
  }

  #open(name: string, stack: AsyncDisposableStack): Database {
    const handle = openDatabase({ url: this.#url(name) }, { connectionsMax: 2, onIdleError: () => {} })
    stack.defer(() => handle.destroy())
    return handle
  }

  #url(name: string): string {
    return `postgres://postgres@localhost/${name}?host=${encodeURIComponent(this.#socketFolder)}`
  }
}

import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'

/**
 * The one handle to Postgres. Queries are written in SQL with Kysely's `sql` tag, which makes parameters of values;
 * rows are typed where they are read.
 */
export type Database = Kysely<unknown>
export type DatabaseTransaction = Transaction<unknown>

/** How to reach a server: a URL, or the folder of an embedded server's socket. */
export type DatabaseAddress = { readonly url: string } | { readonly socketFolder: string }

export const EMBEDDED_DATABASE = 'tollgate'
export const EMBEDDED_USER = 'postgres'

const INT8 = 20

/** `bigint` columns hold token counts and row numbers, far below 2^53. `numeric` stays text: it carries money. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
}

export function clientConfig(address: DatabaseAddress): pg.ClientConfig {
  const common: pg.ClientConfig = { application_name: 'tollgate', connectionTimeoutMillis: 5_000, types }
  if ('url' in address) return { ...common, connectionString: address.url }
  return { ...common, host: address.socketFolder, user: EMBEDDED_USER, database: EMBEDDED_DATABASE }
}

export interface DatabaseOptions {
  readonly connectionsMax: number
  /** A pooled connection broke while idle; the pool replaces it. */
  onIdleError(error: Error): void
}

export function openDatabase(address: DatabaseAddress, { connectionsMax, onIdleError }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...clientConfig(address),
    max: connectionsMax,
    idleTimeoutMillis: 60_000,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  })
  pool.on('error', onIdleError)
  // The pool listens to idle connections only. One that breaks between two statements of a transaction is reported by
  // the next statement; without a listener it would end the process.
  pool.on('connect', client => client.on('error', () => {}))
  return new Kysely({ dialect: new PostgresDialect({ pool }) })
}

/** Runs several reads that see the same moment. */
export async function readSnapshot<T>(
  database: Database,
  run: (transaction: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  const snapshot = database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return snapshot.execute(run)
}

/** @throws when the server cannot be reached or does not answer */
export async function ping(database: Database): Promise<void> {
  await database.executeQuery(CompiledQuery.raw('select 1'))
}

/** SQLSTATE classes that say "not now": connection trouble, shutdown, no resources (Postgres, Appendix A). */
const UNAVAILABLE_STATES = /^(08|53|57P)/
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Whether an error means that the database cannot be asked at the moment, rather than that the question was wrong. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (UNAVAILABLE_STATES.test(code) || UNAVAILABLE_CODES.has(code)) return true
  // `pg` reports these without a code.
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    error.message,
  )
}

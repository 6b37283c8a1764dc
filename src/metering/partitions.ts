import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'

/** Months ahead for which a partition always exists. */
const MONTHS_AHEAD = 2

/** Any number: nodes that create partitions at the same time take turns. */
const LOCK = 7_405_118_203

/**
 * Creates the monthly partitions of `usage_events` from the month of `from` to two months from now.
 *
 * A partition is made as a table of its own and then attached, which lets inserts into the others go on.
 */
export async function ensurePartitions(database: Database, from: Date, now: Date): Promise<void> {
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth())
  const last = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + MONTHS_AHEAD)
  for (let month = new Date(first); month.getTime() <= last; month = nextMonth(month)) {
    const name = `usage_events_${month.toISOString().slice(0, 7).replace('-', '_')}`
    await ensurePartition(database, name, month)
  }
}

async function ensurePartition(database: Database, name: string, month: Date): Promise<void> {
  await database.transaction().execute(async transaction => {
    await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(transaction)
    const { rows } = await sql`select 1 from pg_class where relname = ${name}`.execute(transaction)
    if (rows.length > 0) return
    const table = sql.id(name)
    const bounds = sql.raw(`from ('${month.toISOString()}') to ('${nextMonth(month).toISOString()}')`)
    await sql`create table ${table} (like usage_events including all)`.execute(transaction)
    await sql`alter table usage_events attach partition ${table} for values ${bounds}`.execute(transaction)
  })
}

function nextMonth(month: Date): Date {
  return new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1))
}

/** SQLSTATE of an insert for which no partition exists (check_violation). */
export function isMissingPartition(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23514' && error.message.includes('no partition')
}

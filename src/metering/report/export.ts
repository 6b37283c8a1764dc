import type { Database } from '#storage/database.ts'
import { readItemsAfter, type UsageFilter, type UsageItem } from './store.ts'

/** Requests read at a time: a few hundred kilobytes, and a query that takes milliseconds. */
const BATCH_ROWS = 1_000

/**
 * All requests of a filter, newest first, a batch at a time. Each query goes on where the one before ended, so that
 * neither memory nor a transaction grows with their number. Rows never change, so that each is there exactly once; what
 * is recorded while the export runs may be missing from it.
 */
export async function* exportUsage(database: Database, filter: UsageFilter): AsyncGenerator<readonly UsageItem[]> {
  for (let last: UsageItem | undefined; ; ) {
    const items = await readItemsAfter(database, filter, { last, limit: BATCH_ROWS })
    if (items.length > 0) yield items
    if (items.length < BATCH_ROWS) return
    last = items.at(-1)
  }
}

import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { definitionOf, type Price, type PriceDefinition } from './price.ts'

/** A price as it was in force once, by the version that stands on what was charged with it. */
export interface PriceVersion {
  readonly version: string
  readonly definition: PriceDefinition
  readonly recordedAt: Date
}

/** Writes down what prices are; those that are there stay as they are. */
export async function recordPrices(database: Database, prices: readonly Price[]): Promise<void> {
  const definitions = new Map(prices.map(price => [price.version, definitionOf(price)]))
  // In one order on all nodes, so that two that load the same file do not wait for each other in a circle.
  const versions = [...definitions.keys()].toSorted()
  await sql`
    insert into price_versions (version, definition)
    select * from unnest(${versions}::text[], ${versions.map(version => definitions.get(version))}::json[])
    on conflict do nothing
  `.execute(database)
}

export async function findPriceVersion(database: Database, version: string): Promise<PriceVersion | undefined> {
  const { rows } = await sql<PriceVersion>`
    select version, definition, recorded_at as "recordedAt" from price_versions where version = ${version}
  `.execute(database)
  return rows[0]
}

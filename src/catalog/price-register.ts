import type { Database } from '#storage/database.ts'
import type { Catalog } from './catalog.ts'
import { recordPrices } from './store.ts'

/** Sees to it that every price is on record before anything is charged at it. */
export class PriceRegister {
  readonly #database: Database
  /** Versions that are on record. What is there stays, so that a change of anything but prices asks nobody. */
  readonly #recorded = new Set<string>()

  constructor(database: Database) {
    this.#database = database
  }

  /** @throws the database's error, when a price is new and cannot be written down */
  async enter({ models }: Catalog): Promise<void> {
    const prices = [...models.values()].flatMap(({ offers }) => offers.map(({ price }) => price))
    const unrecorded = prices.filter(({ version }) => !this.#recorded.has(version))
    if (unrecorded.length === 0) return
    await recordPrices(this.#database, unrecorded)
    for (const { version } of unrecorded) this.#recorded.add(version)
  }
}

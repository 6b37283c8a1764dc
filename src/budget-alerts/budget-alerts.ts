import { Loop } from '#lib/loop.ts'
import type { Database } from '#storage/database.ts'
import { type BudgetAlert, noteCrossings, type Thresholds } from './store.ts'

const TICK_MS = 10_000

export interface BudgetAlertsOptions {
  readonly database: Database
  /** Those in force. */
  thresholds(): Thresholds
  onAlert(alert: BudgetAlert): void
  onError(error: unknown, what: string): void
}

/** Looks every ten seconds who has crossed a threshold. Every node does; each crossing is told by one. */
export class BudgetAlerts {
  readonly #options: BudgetAlertsOptions
  readonly #loop: Loop

  constructor(options: BudgetAlertsOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'budget alerts',
      intervalMs: TICK_MS,
      runOnce: () => this.runOnce(),
      onError: options.onError,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async runOnce(): Promise<void> {
    const { database, thresholds, onAlert } = this.#options
    const current = thresholds()
    if (current.balanceBelow.length === 0 && current.limitUsed.length === 0) return
    for (const alert of await noteCrossings(database, current)) onAlert(alert)
  }
}

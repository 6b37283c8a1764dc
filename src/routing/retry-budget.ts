import { RecentCount } from './recent-count.ts'

const WINDOW_MS = 10_000
/** So that a quiet model has retries too. */
const ALWAYS = 3

/**
 * How many second attempts a model's requests may make: a share of the requests of the last ten seconds, and three. In an
 * outage upstreams are asked little more often than clients ask.
 */
export class RetryBudget {
  readonly #requests = new RecentCount(WINDOW_MS)
  readonly #retries = new RecentCount(WINDOW_MS)

  requested(nowMs: number): void {
    this.#requests.add(nowMs)
  }

  /** @param share how many of the requests may. @returns whether there was one */
  take(nowMs: number, share: number): boolean {
    const allowed = ALWAYS + share * this.#requests.total(nowMs)
    if (this.#retries.total(nowMs) + 1 > allowed) return false
    this.#retries.add(nowMs)
    return true
  }
}

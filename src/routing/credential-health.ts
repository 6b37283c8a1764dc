import type { Credential } from '#catalog/catalog.ts'
import { Breaker, type BreakerRules } from './breaker.ts'
import { RecentCount } from './recent-count.ts'

const MINUTE_MS = 60_000

/** An account that is not let in is seldom let in a minute later, and a human may have to do something about it. */
const RULES: BreakerRules = Object.freeze({ consecutiveMax: 3, restFirstMs: MINUTE_MS, restMaxMs: 5 * MINUTE_MS })

/** A limit of its own has room again when a request ends, or a minute is over: nobody knows when. */
const PATIENCE_MS = 1_000

/** What is known of one key of a channel: whether its account is let in, and how far its own limits are used. */
export class CredentialHealth {
  readonly breaker = new Breaker(RULES)
  readonly #credential: Credential
  readonly #lastMinute: RecentCount | undefined
  #inFlight = 0

  constructor(credential: Credential) {
    this.#credential = credential
    this.#lastMinute = credential.requestsPerMinute === undefined ? undefined : new RecentCount(MINUTE_MS)
  }

  begin(nowMs: number): void {
    this.#inFlight++
    this.#lastMinute?.add(nowMs)
  }

  end(): void {
    this.#inFlight--
  }

  /** When its own limits let a request pass: at once when that is not after `nowMs`. */
  roomAtMs(nowMs: number): number {
    const { concurrency = Number.POSITIVE_INFINITY, requestsPerMinute = Number.POSITIVE_INFINITY } = this.#credential
    const isFull = this.#inFlight >= concurrency || (this.#lastMinute?.total(nowMs) ?? 0) >= requestsPerMinute
    return isFull ? nowMs + PATIENCE_MS : nowMs
  }
}

import { Breaker, type BreakerRules } from './breaker.ts'
import { Concurrency } from './concurrency.ts'
import { Latency } from './latency.ts'

const RULES: BreakerRules = Object.freeze({
  consecutiveMax: 5,
  share: Object.freeze({ requestsMin: 10, windowMs: 30_000 }),
  restFirstMs: 5_000,
  restMaxMs: 30_000,
})

/** What is known of one channel's service of one of its models. */
export class PairHealth {
  readonly breaker = new Breaker(RULES)
  readonly concurrency = new Concurrency()
  readonly latency = new Latency()
  /** The upstream asked to be left alone until then: as a whole, or by one of our accounts. */
  #restsUntilMs = 0
  readonly #laneRestsUntilMs = new Map<string, number>()

  rest(untilMs: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, untilMs)
  }

  restLane(credentialId: string, untilMs: number): void {
    this.#laneRestsUntilMs.set(credentialId, Math.max(this.#laneRestsUntilMs.get(credentialId) ?? 0, untilMs))
  }

  restsUntilMs(credentialId: string): number {
    return Math.max(this.#restsUntilMs, this.#laneRestsUntilMs.get(credentialId) ?? 0)
  }
}

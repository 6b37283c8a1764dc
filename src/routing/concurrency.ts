const FLOOR = 4
const CUT = 0.8
/** Requests that fail together speak of one overload. */
const CUT_EVERY_MS = 1_000

/**
 * How many requests at a time an upstream takes, learned from when it has too many: additive increase, multiplicative
 * decrease. It starts without a limit, and nothing queues: what is over the limit goes elsewhere.
 */
export class Concurrency {
  #inFlight = 0
  #limit = Number.POSITIVE_INFINITY
  #cutAtMs = Number.NEGATIVE_INFINITY

  get inFlight(): number {
    return this.#inFlight
  }

  get limit(): number {
    return this.#limit
  }

  get isFull(): boolean {
    return this.#inFlight >= this.#limit
  }

  begin(): void {
    this.#inFlight++
  }

  end(): void {
    this.#inFlight--
  }

  /** Grows only while it is put to use: what was never tried is not known to work. */
  succeeded(): void {
    if (this.#inFlight * 2 >= this.#limit) this.#limit++
  }

  overloaded(nowMs: number): void {
    if (nowMs - this.#cutAtMs < CUT_EVERY_MS) return
    this.#cutAtMs = nowMs
    this.#limit = Math.max(FLOOR, Math.floor(Math.min(this.#limit, this.#inFlight) * CUT))
  }
}

import { TimeQueue } from './time-queue.ts'

const SECOND_MS = 1_000
/** Weight of the latest span in the estimate of demand, which follows a change within ten spans or so. */
const RECENT = 0.1
/** Of these demand is counted in. */
export const SPANS_A_WINDOW = 60

/**
 * What one subject was let do in the window of time that ends now, to the millisecond: each admission counts for
 * exactly `windowMs`, so no window, wherever it begins, ever holds more than was allowed.
 */
export class Window {
  readonly windowMs: number
  readonly #admitted = new TimeQueue()
  /** When those come back who were told to; most subjects are never refused anything. */
  #promised: TimeQueue | undefined
  /** Requests in the span that runs, refused ones too. */
  #arrivals = 0
  #arrivalsASpan = 0
  #span = Number.NaN
  #spansSeen = 0
  #arrivedAtMs = Number.NEGATIVE_INFINITY

  constructor(windowMs: number) {
    this.windowMs = windowMs
  }

  /** Admissions that still count. */
  used(nowMs: number): number {
    this.#admitted.dropUntil(nowMs - this.windowMs)
    return this.#admitted.length
  }

  admit(nowMs: number): void {
    this.#arrive(nowMs)
    this.#admitted.push(nowMs)
  }

  /**
   * Counts a refusal. The first that is refused is told when the first admission will no longer count, the second when
   * the second will not, so that those who do as they are told are not all back at once. Who finds all admissions
   * promised away is told to come back after a whole window.
   *
   * @param capacity how many admissions may count at a time; `used` has reached it
   * @returns whole seconds to wait, at least 1 and at most a window
   */
  refuse(capacity: number, nowMs: number): number {
    this.#arrive(nowMs)
    this.#promised ??= new TimeQueue()
    this.#promised.dropUntil(nowMs)
    const index = this.#admitted.length - capacity + this.#promised.length
    const isFree = capacity > 0 && index < this.#admitted.length
    const waitMs = isFree ? this.#leftMs(index, nowMs) : this.windowMs
    const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS))
    if (isFree) this.#promised.push(nowMs + seconds * SECOND_MS)
    return seconds
  }

  /** Time until nothing counts any more. */
  resetMs(nowMs: number): number {
    const { length } = this.#admitted
    return length === 0 ? 0 : this.#leftMs(length - 1, nowMs)
  }

  /** How long an admission counts yet; what adding and subtracting floats makes of a whole window is one. */
  #leftMs(index: number, nowMs: number): number {
    return Math.min(this.windowMs, this.windowMs - (nowMs - this.#admitted.at(index)))
  }

  /** Requests a span lately, refused ones too. */
  arrivalsASpan(nowMs: number): number {
    this.#closeSpan(nowMs)
    return this.#arrivalsASpan
  }

  /** Nothing counts any more, and nobody was told to come back later than now. */
  isIdle(nowMs: number): boolean {
    return nowMs - this.#arrivedAtMs >= this.windowMs
  }

  #arrive(nowMs: number): void {
    this.#closeSpan(nowMs)
    this.#arrivals += 1
    this.#arrivedAtMs = nowMs
  }

  /** Takes the span in which something came last into the estimate, and those after it, in which nothing did. */
  #closeSpan(nowMs: number): void {
    const span = Math.floor((nowMs * SPANS_A_WINDOW) / this.windowMs)
    if (span === this.#span) return
    const passed = span - this.#span
    this.#span = span
    if (Number.isNaN(passed)) return
    // The first spans count alike: there is nothing yet that they could be a change of.
    this.#spansSeen += 1
    this.#arrivalsASpan += (this.#arrivals - this.#arrivalsASpan) * Math.max(RECENT, 1 / this.#spansSeen)
    this.#arrivalsASpan *= (1 - RECENT) ** (passed - 1)
    this.#arrivals = 0
  }
}

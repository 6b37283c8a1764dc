import { TimeQueue } from './time-queue.ts'

const SECOND_MS = 1_000
/** Weight of the latest span in the estimate of demand, which follows a change within ten spans or so. */
const RECENT = 0.1

/**
 * What one subject was let do in the window of time that ends now, to the millisecond: each admission counts for
 * exactly `windowMs`, so no window, wherever it begins, ever holds more than was allowed.
 */
export class Window {
  readonly windowMs: number
  readonly #admitted = new TimeQueue()
  /** When those come back who were told to. */
  readonly #promised = new TimeQueue()
  /** Requests since the last `tick`, refused ones too. */
  #arrivals = 0
  #arrivalsASpan = 0
  #ticks = 0

  constructor(windowMs: number) {
    this.windowMs = windowMs
  }

  /** Admissions that still count. */
  used(nowMs: number): number {
    this.#admitted.dropUntil(nowMs - this.windowMs)
    return this.#admitted.length
  }

  admit(nowMs: number): void {
    this.#arrivals += 1
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
    this.#arrivals += 1
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

  /** A span of time has passed. */
  tick(): void {
    this.#ticks += 1
    // The first spans count alike: there is nothing yet that they could be a change of.
    this.#arrivalsASpan += (this.#arrivals - this.#arrivalsASpan) * Math.max(RECENT, 1 / this.#ticks)
    this.#arrivals = 0
  }

  /** Requests a span lately, refused ones too. */
  get arrivalsASpan(): number {
    return this.#arrivalsASpan
  }

  isIdle(nowMs: number): boolean {
    this.#promised.dropUntil(nowMs)
    return this.#arrivals === 0 && this.used(nowMs) === 0 && this.#promised.length === 0
  }
}

import { RecentCount } from './recent-count.ts'

/** When a breaker opens, and for how long. */
export interface BreakerRules {
  /** So many failures with no success between them open it. */
  readonly consecutiveMax: number
  /** As does a larger share of failures than half, of at least so many requests within the window. */
  readonly share?: { readonly requestsMin: number; readonly windowMs: number }
  /** How long it rests the first time; each probe that fails doubles it. */
  readonly restFirstMs: number
  readonly restMaxMs: number
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** A request that began while the breaker was closed. */
const NO_PROBE = 0

/** While a probe is under way, others are told to come back after this. */
const PROBE_PATIENCE_MS = 1_000

/**
 * Keeps requests away from what fails. Closed, it counts. Open, it rests. When it has rested it is half open: one
 * request may probe it, whose success closes it and whose failure opens it for longer.
 *
 * Holds no clock: whoever asks says when now is. Verdicts of requests that began before it opened change nothing.
 */
export class Breaker {
  readonly #rules: BreakerRules
  readonly #requests: RecentCount | undefined
  readonly #failures: RecentCount | undefined
  #consecutive = 0
  /** When it has rested; `undefined` while it is closed. */
  #restedAtMs: number | undefined
  #restMs: number
  #openedAtMs = 0
  /** The probe under way; {@link NO_PROBE} when there is none. */
  #probe = NO_PROBE
  #probes = NO_PROBE

  constructor(rules: BreakerRules) {
    this.#rules = rules
    this.#restMs = rules.restFirstMs
    this.#requests = rules.share && new RecentCount(rules.share.windowMs)
    this.#failures = rules.share && new RecentCount(rules.share.windowMs)
  }

  state(nowMs: number): BreakerState {
    if (this.#restedAtMs === undefined) return 'closed'
    return nowMs < this.#restedAtMs ? 'open' : 'half-open'
  }

  /** When a request may pass: at once when that is not after `nowMs`. */
  readyAtMs(nowMs: number): number {
    if (this.#restedAtMs === undefined) return nowMs
    return this.#probe === NO_PROBE ? this.#restedAtMs : Math.max(this.#restedAtMs, nowMs + PROBE_PATIENCE_MS)
  }

  /** Whether it may be probed before it has rested, because there is nothing else: not more often than this. */
  mayProbeEarly(nowMs: number, everyMs: number): boolean {
    return this.#probe === NO_PROBE && nowMs - this.#openedAtMs >= everyMs
  }

  /** A request sets out. @returns which probe it is, to be passed on with its verdict */
  begin(): number {
    if (this.#restedAtMs === undefined) return NO_PROBE
    this.#probe = ++this.#probes
    return this.#probe
  }

  succeeded(nowMs: number, probe: number): void {
    if (this.#isOthers(probe)) return
    this.#requests?.add(nowMs)
    this.#consecutive = 0
    if (this.#restedAtMs === undefined) return
    this.#probe = NO_PROBE
    this.#restedAtMs = undefined
    this.#restMs = this.#rules.restFirstMs
    this.#requests?.clear()
    this.#failures?.clear()
  }

  /** @param isSecond the request has counted as a success before: it broke off */
  failed(nowMs: number, probe: number, { isSecond = false } = {}): void {
    if (this.#isOthers(probe)) return
    if (!isSecond) this.#requests?.add(nowMs)
    this.#failures?.add(nowMs)
    this.#consecutive++
    const isProbe = this.#restedAtMs !== undefined
    if (isProbe || this.#consecutive >= this.#rules.consecutiveMax || this.#failsTooOften(nowMs)) this.open(nowMs)
  }

  /** The request is over: if it was the probe and gave no verdict, another may be. */
  ended(probe: number): void {
    if (probe === this.#probe) this.#probe = NO_PROBE
  }

  /** Opens whatever was counted; for longer when it was not closed before. */
  open(nowMs: number): void {
    if (this.#restedAtMs !== undefined) this.#restMs = Math.min(this.#restMs * 2, this.#rules.restMaxMs)
    this.#probe = NO_PROBE
    this.#openedAtMs = nowMs
    this.#restedAtMs = nowMs + this.#restMs
  }

  /** Only the probe has a say while it is not closed. */
  #isOthers(probe: number): boolean {
    return this.#restedAtMs !== undefined && (probe === NO_PROBE || probe !== this.#probe)
  }

  #failsTooOften(nowMs: number): boolean {
    const { share } = this.#rules
    if (!share || !this.#requests || !this.#failures) return false
    const requests = this.#requests.total(nowMs)
    return requests >= share.requestsMin && this.#failures.total(nowMs) * 2 > requests
  }
}

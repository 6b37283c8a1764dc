/** How much the newest measurement weighs. */
const NEWEST = 0.2
/** What was measured longer ago is forgotten, so that an upstream that was slow gets another look. */
const KNOWN_MS = 60_000

/** How long an upstream takes to its first output: a moving average that forgets. */
export class Latency {
  #averageMs = 0
  #measuredAtMs = Number.NEGATIVE_INFINITY

  measured(nowMs: number, latencyMs: number): void {
    const isKnown = nowMs - this.#measuredAtMs < KNOWN_MS
    this.#averageMs = isKnown ? this.#averageMs + NEWEST * (latencyMs - this.#averageMs) : latencyMs
    this.#measuredAtMs = nowMs
  }

  /** `undefined`: not known, or not any more. */
  averageMs(nowMs: number): number | undefined {
    return nowMs - this.#measuredAtMs < KNOWN_MS ? this.#averageMs : undefined
  }
}

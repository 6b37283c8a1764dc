import type { Verdict } from './connection.ts'
import type { LoadResult, Percentiles } from './order.ts'

/** Gathers what requests came to. */
export class Tally {
  readonly #startedAtMs = performance.now()
  readonly #latenciesMs: number[] = []
  readonly #latenessesMs: number[] = []
  readonly #errors: Record<string, number> = {}
  #events = 0

  late(latenessMs: number): void {
    this.#latenessesMs.push(latenessMs)
  }

  answered(latencyMs: number, verdict: Verdict, events: number): void {
    this.#latenciesMs.push(latencyMs)
    this.#events += events
    if (verdict !== undefined) this.#errors[verdict] = (this.#errors[verdict] ?? 0) + 1
  }

  result(): LoadResult {
    return {
      requests: this.#latenciesMs.length,
      events: this.#events,
      elapsedMs: performance.now() - this.#startedAtMs,
      errors: this.#errors,
      latencyMs: percentilesOf(this.#latenciesMs),
      latenessMs: percentilesOf(this.#latenessesMs),
    }
  }
}

function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

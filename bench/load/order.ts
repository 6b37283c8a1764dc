/** What the load generator is told to do, and what it found. */
export interface LoadOrder {
  readonly kind: 'closed' | 'open' | 'hold'
  readonly port: number
  /** The request's bytes, head and body; the same every time. */
  readonly request: string
  /** Server-sent events that a good answer has; 0 for an answer in one piece. Answers that are held have no end. */
  readonly events: number
  readonly durationMs: number
  /** Closed loop and hold: requests under way at any time, each on a connection of its own. */
  readonly connections?: number
  /** Open loop: requests a second, whether or not earlier ones have been answered. */
  readonly rate?: number
}

export interface LoadResult {
  readonly requests: number
  readonly events: number
  /** From the first request to the last answer. */
  readonly elapsedMs: number
  /** Answers that were not what was ordered, by what was wrong with them. */
  readonly errors: Readonly<Record<string, number>>
  readonly latencyMs: Percentiles
  /** Open loop: how late the generator itself was with its requests. It is part of the latencies. */
  readonly latenessMs: Percentiles
}

export interface Percentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

import type { HeaderMap } from '#core/sink.ts'

/** Where a caller's limit stands, as its answers say it. */
export interface RateStanding {
  /** Requests a minute. */
  readonly limit: number
  readonly remaining: number
  /** Until all of it is free again. */
  readonly resetMs: number
}

const SECOND_MS = 1_000
const SECONDS_A_MINUTE = 60

/** As OpenAI spells it (API reference, "Rate limits in headers"), and everyone after it. */
export function rateHeaders({ limit, remaining, resetMs }: RateStanding): HeaderMap {
  return {
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': duration(resetMs),
  }
}

/** The same, and as Anthropic's SDKs look for it: there the reset is a time of day. */
export function anthropicRateHeaders(standing: RateStanding): HeaderMap {
  const { limit, remaining, resetMs } = standing
  return {
    ...rateHeaders(standing),
    'anthropic-ratelimit-requests-limit': String(limit),
    'anthropic-ratelimit-requests-remaining': String(remaining),
    'anthropic-ratelimit-requests-reset': `${new Date(Date.now() + resetMs).toISOString().slice(0, -5)}Z`,
  }
}

/** `1m0s`, `59s`. */
function duration(ms: number): string {
  const seconds = Math.ceil(ms / SECOND_MS)
  const minutes = Math.floor(seconds / SECONDS_A_MINUTE)
  const rest = `${seconds % SECONDS_A_MINUTE}s`
  return minutes === 0 ? rest : `${minutes}m${rest}`
}

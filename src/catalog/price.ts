import { createHash } from 'node:crypto'
import { parseDecimal } from '#core/money.ts'
import type { Fee } from './fee.ts'
import type { PriceConfig } from './schema.ts'

/** What a price may be for: six kinds of tokens, and the request itself. */
export const RATE_NAMES = [
  'input',
  'output',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'audio_input',
  'audio_output',
  'request',
] as const

export type RateName = (typeof RATE_NAMES)[number]

/**
 * A price in integers. Rates are attodollars (10⁻¹⁸ USD) for one token or one request: fine enough that a price of
 * twelve decimals a million tokens is exact, so that a charge is rounded once, at its end.
 */
export interface Price {
  /** Names this exact set of rates; it stands on every charge made with it. */
  readonly version: string
  readonly rates: Readonly<Partial<Record<RateName, bigint>>>
  /** Charged in place of what the rates come to. */
  readonly fee?: Fee
}

const ATTO_PLACES = 18

/** Tokens that a configured token price is for, as a power of ten. */
const PER_EXPONENT = { '1M': 6, '1K': 3, 1: 0 } as const

/** @throws RangeError with a sentence when a number has too many digits to be exact */
export function parsePrice(config: PriceConfig): Price {
  const exponent = PER_EXPONENT[config.per ?? '1M']
  const rates: Partial<Record<RateName, bigint>> = {}
  for (const name of RATE_NAMES) {
    const text = config[name]
    if (text === undefined) continue
    // A price per 10^n tokens has n digits fewer to spend after the point.
    rates[name] = parseDecimal(text, ATTO_PLACES - (name === 'request' ? 0 : exponent))
  }
  return { version: versionOf(rates), rates }
}

function versionOf(rates: Price['rates']): string {
  const canonical = RATE_NAMES.map(name => `${name}=${rates[name] ?? ''}`).join(';')
  return `pv_${createHash('sha256').update(canonical).digest('hex').slice(0, 16)}`
}

import { divideHalfEven, parseDecimal, withoutExponent } from './money.ts'

/**
 * What one request consumed, in one vocabulary for all providers. `undefined` means that nobody told us; it is not
 * zero. Totals include their parts: `inputTokens` counts cached, cache-written and audio tokens too, `outputTokens`
 * counts reasoning and audio tokens.
 */
export interface Usage {
  readonly inputTokens?: number | undefined
  readonly cacheReadTokens?: number | undefined
  /** All cache writes, whatever their lifetime. */
  readonly cacheWriteTokens?: number | undefined
  readonly cacheWrite5mTokens?: number | undefined
  readonly cacheWrite1hTokens?: number | undefined
  readonly audioInputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly audioOutputTokens?: number | undefined
  /** The provider's own total where it reports one. */
  readonly totalTokens?: number | undefined
  /** What is counted by other things than tokens. */
  readonly units?: Readonly<Partial<Record<Unit, Quantity>>> | undefined
}

/** What work may be charged by besides tokens and requests. */
export const UNITS = ['second', 'image', 'megapixel', 'page', 'character'] as const

export type Unit = (typeof UNITS)[number]

/** A count of units as an integer of 10⁻¹²: seconds and megapixels are no whole numbers, and no float may price them. */
export type Quantity = bigint

/** Digits after the point that a quantity has, here and in Postgres (`numeric(38,12)`). */
export const QUANTITY_PLACES = 12

/** A whole number as a quantity. */
export function wholeQuantity(count: number): Quantity {
  return BigInt(count) * 10n ** BigInt(QUANTITY_PLACES)
}

/** Beyond this many units a report is a mistake; it is more than a century of seconds. */
const QUANTITY_MAX = 2 ** 53

/**
 * A quantity as a provider reported it, in JSON a number or a text, or `undefined` when it cannot be one. A number counts
 * for the decimal that it was written as: 3.27 is 3.27 and not the nearest float. What is beyond the twelfth digit, as in
 * durations that a provider computed in floats, is rounded half to even.
 */
export function unitQuantity(value: unknown): Quantity | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const decimal = withoutExponent(String(value).trim())
  if (!/^\d{1,16}(\.\d{1,400})?$/.test(decimal) || Number(decimal) > QUANTITY_MAX) return undefined
  const places = decimal.includes('.') ? decimal.length - decimal.indexOf('.') - 1 : 0
  const excess = Math.max(0, places - QUANTITY_PLACES)
  return divideHalfEven(parseDecimal(decimal, QUANTITY_PLACES + excess), 10n ** BigInt(excess))
}

/**
 * A token count as a provider reported it, or `undefined` when what it sent cannot be one (absent, null, negative,
 * fractional, NaN, text). A broken count must not become a charge.
 */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

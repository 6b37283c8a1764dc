/**
 * Money as integers. A float never carries money: amounts are `bigint` picodollars in TypeScript, `numeric(38,12)` in
 * Postgres and decimal strings on the wire (design §1).
 */

/** 10⁻¹² US dollars. */
export type Picodollars = bigint

/** Digits after the point that an amount may have. */
const USD_PLACES = 12

/** Digits before the point that `numeric(38,12)` holds. */
const USD_INTEGER_DIGITS_MAX = 26

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/**
 * A decimal string as an integer count of 10^-places: `("0.25", 3)` is `250n`. No exponent, no sign but a minus.
 *
 * @throws RangeError with a sentence for people when the text is no such number or has more digits than fit
 */
export function parseDecimal(text: string, places: number): bigint {
  const match = DECIMAL.exec(text)
  if (!match) throw new RangeError(`"${text}" is not a decimal number like "0.25"`)
  const [, sign = '', integer = '', fraction = ''] = match
  const significant = fraction.replace(/0+$/, '')
  if (significant.length > places) throw new RangeError(`"${text}" has more than ${places} digits after the point`)
  if (integer.replace(/^0+/, '').length > USD_INTEGER_DIGITS_MAX) throw new RangeError(`"${text}" is too large`)
  const magnitude = BigInt(integer + significant.padEnd(places, '0'))
  return sign === '-' ? -magnitude : magnitude
}

/** A number as JSON spells it: perhaps with an exponent, perhaps with a sign on it. */
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/

/**
 * The text of a JSON number without its exponent: `1.5e-7` is `0.00000015`. What has none, or is no such number, is
 * returned as it is. The point moves among the digits; nothing is ever made a float.
 */
export function withoutExponent(text: string): string {
  const match = JSON_NUMBER.exec(text)
  if (!match) return text
  const [, sign = '', integer = '', fraction = '', exponent = ''] = match
  const point = integer.length + Number(exponent)
  const digits = (integer + fraction).padStart(integer.length + fraction.length + Math.max(0, 1 - point), '0')
  const at = Math.max(1, point)
  const padded = digits.padEnd(at, '0')
  return padded.length === at ? sign + padded : `${sign}${padded.slice(0, at)}.${padded.slice(at)}`
}

/** The inverse of {@link parseDecimal} in its one canonical form: no exponent, no trailing zeros, no negative zero. */
export function formatDecimal(value: bigint, places: number): string {
  const sign = value < 0n ? '-' : ''
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0')
  const integer = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return fraction === '' ? sign + integer : `${sign}${integer}.${fraction}`
}

/** `"1.5"` → 1.5 × 10¹² picodollars. @throws RangeError as {@link parseDecimal} */
export function parseUsd(text: string): Picodollars {
  return parseDecimal(text, USD_PLACES)
}

/** 1.5 × 10¹² picodollars → `"1.5"`. */
export function formatUsd(amount: Picodollars): string {
  return formatDecimal(amount, USD_PLACES)
}

/** A Postgres `numeric` as it prints (`"1.500000000000"`) in the canonical form (`"1.5"`). */
export function canonicalDecimal(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/** `numerator / denominator` to the nearest integer, ties to the even one; the only rounding that money meets. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  if (denominator <= 0n) throw new RangeError('the denominator must be positive')
  const negative = numerator < 0n
  const magnitude = negative ? -numerator : numerator
  const quotient = magnitude / denominator
  const twiceRest = (magnitude % denominator) * 2n
  const roundUp = twiceRest > denominator || (twiceRest === denominator && quotient % 2n === 1n)
  const rounded = roundUp ? quotient + 1n : quotient
  return negative ? -rounded : rounded
}

/** `Math.max` for amounts. */
export function largerOf(a: Picodollars, b: Picodollars): Picodollars {
  if (a > b) return a
  return b
}

/** `Math.min` for amounts. */
export function smallerOf(a: Picodollars, b: Picodollars): Picodollars {
  if (a < b) return a
  return b
}

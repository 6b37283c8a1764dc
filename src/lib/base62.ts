import { randomFillSync } from 'node:crypto'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Bytes at or above this would make the first digits likelier than the last ones. */
const UNBIASED_BYTES = 62 * 4

/** One system call fills randomness for about 160 ids; drawing per id costs 2.5 µs each (measured). */
const pool = Buffer.allocUnsafe(4096)
let poolOffset = pool.length

/** `length` uniformly random base62 digits from the system's cryptographic source. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    if (poolOffset === pool.length) {
      randomFillSync(pool)
      poolOffset = 0
    }
    const byte = pool[poolOffset] as number
    pool[poolOffset] = 0
    poolOffset += 1
    if (byte < UNBIASED_BYTES) text += DIGITS[byte % 62]
  }
  return text
}

/** A non-negative integer as exactly `length` base62 digits, zero-padded on the left. */
export function encodeBase62(value: number, length: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < length; i++) {
    text = DIGITS[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  if (rest > 0) throw new RangeError(`${value} does not fit in ${length} base62 digits`)
  return text
}

/** The number that {@link encodeBase62} wrote. What is no base62 digit counts as 0. */
export function decodeBase62(text: string): number {
  let value = 0
  for (const digit of text) value = value * 62 + Math.max(0, DIGITS.indexOf(digit))
  return value
}

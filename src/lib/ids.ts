import { decodeBase62, encodeBase62, randomBase62 } from './base62.ts'

/** Prefixes of the ids that Tollgate makes; the prefix tells a reader of a log what the id names. */
export type IdPrefix = 'hold' | 'req' | 'org' | 'ws' | 'key' | 'mtok' | 'pkey' | 'btx' | 'node' | 'resp'

/** Whether a text can be an id at all: what callers send is asked about only then. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9A-Za-z]{1,64}$/.test(text.slice(prefix.length + 1))
}

/** `<prefix>_` and 24 base62 digits (142 random bits). */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBase62(24)}`
}

/** Milliseconds since 1970 fit until the year 8888. */
const TIME_DIGITS = 8

/**
 * As {@link newId}, but the first digits tell when (95 random bits remain): what is named by it is found again in a
 * large history without an index of its own, and ids sort by time.
 */
export function newTimedId(prefix: IdPrefix, nowMs = Date.now()): string {
  return `${prefix}_${encodeBase62(nowMs, TIME_DIGITS)}${randomBase62(24 - TIME_DIGITS)}`
}

/** When {@link newTimedId} made an id, in milliseconds since 1970. Of another id it is any time. */
export function timeOfId(id: string): number {
  const digits = id.slice(id.indexOf('_') + 1)
  return decodeBase62(digits.slice(0, TIME_DIGITS))
}

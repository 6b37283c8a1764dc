import { randomBase62 } from './base62.ts'

/** Prefixes of the ids that Tollgate makes; the prefix tells a reader of a log what the id names. */
export type IdPrefix = 'req' | 'org' | 'ws' | 'key' | 'mtok' | 'pkey' | 'btx' | 'node' | 'resp'

/** Whether a text can be an id at all: what callers send is asked about only then. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9A-Za-z]{1,64}$/.test(text.slice(prefix.length + 1))
}

/** `<prefix>_` and 24 base62 digits (142 random bits). */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBase62(24)}`
}

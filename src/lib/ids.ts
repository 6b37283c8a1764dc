import { randomBase62 } from './base62.ts'

/** Prefixes of the ids that Tollgate makes; the prefix tells a reader of a log what the id names. */
export type IdPrefix = 'req' | 'org' | 'ws' | 'key' | 'mtok' | 'btx' | 'node' | 'resp'

/** `<prefix>_` and 24 base62 digits (142 random bits). */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBase62(24)}`
}

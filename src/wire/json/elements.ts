import { CLOSE_BRACKET, COMMA, endOfValue, skipSpace } from './members.ts'

/** Where something lies in bytes: its first byte, and the offset after its last one. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Where the elements of the JSON array that begins at `from` lie in its bytes, in order. As with `scanMembers`, the
 * bytes must already have passed `JSON.parse`.
 */
export function scanElements(bytes: Buffer, from = 0): Span[] {
  const elements: Span[] = []
  let at = skipSpace(bytes, skipSpace(bytes, from) + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    const end = endOfValue(bytes, at)
    elements.push({ start: at, end })
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return elements
}

/**
 * Where the top-level members of a JSON object lie in its bytes, so that one value can be replaced and every other
 * byte kept: unknown fields, their order, number spellings, white space.
 *
 * The bytes must already have passed `JSON.parse`; the scanner relies on that and checks nothing.
 */
export interface Member {
  readonly key: string
  /** Offset of the key's opening quote. */
  readonly start: number
  /** Offset of the value's first byte, and the offset after its last one. */
  readonly valueStart: number
  readonly valueEnd: number
}

export const QUOTE = 0x22
export const COMMA = 0x2c
const BACKSLASH = 0x5c
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The members of the object that starts at or after `from`, in order. */
export function scanMembers(bytes: Buffer, from = 0): Member[] {
  const members: Member[] = []
  let at = skipSpace(bytes, skipSpace(bytes, from) + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at)
    const key = readKey(bytes, at, keyEnd)
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const valueEnd = endOfValue(bytes, valueStart)
    members.push({ key, start: at, valueStart, valueEnd })
    at = skipSpace(bytes, valueEnd)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return members
}

/** The value of one top-level member, or `undefined` when the object has no such key. */
export function findMember(bytes: Buffer, key: string, from = 0): Member | undefined {
  let at = skipSpace(bytes, skipSpace(bytes, from) + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at)
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const valueEnd = endOfValue(bytes, valueStart)
    if (isKey(bytes, at, keyEnd, key)) return { key, start: at, valueStart, valueEnd }
    at = skipSpace(bytes, valueEnd)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return undefined
}

/** Offset of the brace that closes the object which ends `bytes` before `end`. */
export function closingBrace(bytes: Buffer, end = bytes.length): number {
  return bytes.lastIndexOf(CLOSE_BRACE, end - 1)
}

function isKey(bytes: Buffer, start: number, end: number, key: string): boolean {
  const length = end - start - 2
  // An escape makes the spelling longer than the key: such rare keys are read, all others compared by length first.
  if (length < key.length) return false
  if (length !== Buffer.byteLength(key) && !hasEscape(bytes, start, end)) return false
  return readKey(bytes, start, end) === key
}

function readKey(bytes: Buffer, start: number, end: number): string {
  if (!hasEscape(bytes, start, end)) return bytes.toString('utf8', start + 1, end - 1)
  return JSON.parse(bytes.toString('utf8', start, end)) as string
}

/** A loop and not `indexOf`, which would look on to the end of the body for every key of a body without a backslash. */
function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at += 1
  return at
}

/** The offset after the closing quote. `indexOf` runs natively, so a megabyte of base64 costs microseconds. */
function endOfString(bytes: Buffer, start: number): number {
  let quote = start
  for (;;) {
    quote = bytes.indexOf(QUOTE, quote + 1)
    if (quote === -1) return bytes.length
    let backslashes = 0
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
}

export function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return endOfString(bytes, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(bytes, start)
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at] as number
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20) break
    at += 1
  }
  return at
}

function endOfNested(bytes: Buffer, start: number): number {
  let depth = 0
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1
    at += 1
    if (depth === 0) return at
  }
  return at
}

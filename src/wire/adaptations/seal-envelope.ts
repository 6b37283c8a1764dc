import { isObject, tryParse } from '../json/parse.ts'

/**
 * A vendor's seal as a client of another format keeps it: base64 of `tollgate:<format>:<kind>:<seal>`, so that it is
 * known for what it is when it comes back. Base64, because Google's SDKs decode the field that it may stand in.
 */
export interface Seal {
  /** The format of whoever made it; empty when that cannot be read. */
  readonly format: string
  readonly kind: SealKind
  readonly value: string
  readonly notes?: SealNotes | undefined
}

/**
 * What was sealed, and so where the seal belongs: `signature` and `encrypted` are those of a `ReasoningPart`. `words`
 * were not sealed at all; the empty seal says whose they are.
 */
export type SealKind = 'signature' | 'encrypted' | 'words' | 'tool-call' | 'text'

export interface SealNotes {
  /** What the sealer's format says beside the seal and wants back with it. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** How many parts that are no thoughts came before, for clients whose format does not keep the order. */
  readonly after?: number | undefined
}

const MARK = 'tollgate:'

/** How every envelope begins. Nine bytes are twelve digits of base64, and these are the same in its two alphabets. */
export const ENVELOPE_START = Buffer.from(MARK).toString('base64')

const LETTER =
  /^tollgate:(?<format>[a-z-]+):(?<kind>signature|encrypted|words|tool-call|text)(?:\?(?<notes>[^:]*))?:(?<value>.*)$/s

export function wrapSeal({ format, kind, value, notes }: Seal): string {
  const suffix = notes ? `?${encodeURIComponent(JSON.stringify(notes))}` : ''
  return Buffer.from(`${MARK}${format}:${kind}${suffix}:${value}`).toString('base64')
}

/** `undefined` for what is no envelope. One that is damaged is nobody's seal: it must not pass for a vendor's own. */
export function unwrapSeal(text: string): Seal | undefined {
  if (!text.startsWith(ENVELOPE_START)) return undefined
  const letter = LETTER.exec(Buffer.from(text, 'base64').toString())?.groups
  if (!letter) return { format: '', kind: 'words', value: '' }
  const { format = '', kind, notes, value = '' } = letter
  return { format, kind: kind as SealKind, value, ...(notes !== undefined && { notes: readNotes(notes) }) }
}

function readNotes(encoded: string): SealNotes {
  const notes = tryParse(Buffer.from(decodeUri(encoded)))
  if (!isObject(notes)) return {}
  return {
    ...(isObject(notes.fields) && { fields: notes.fields }),
    ...(typeof notes.after === 'number' && { after: notes.after }),
  }
}

function decodeUri(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return ''
  }
}

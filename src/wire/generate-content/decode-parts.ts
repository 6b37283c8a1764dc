import type { OpaquePart, Part, ToolCallPart, UrlCitation } from '#core/call.ts'
import { isObject } from '../json/parse.ts'
import { decodeMedia } from './media.ts'

export const FORMAT = 'generate-content'

/** Stands for the signature of a call that another vendor's model made: this one then asks for none. */
export const PLACEHOLDER_SIGNATURE = 'skip_thought_signature_validator'

export type Json = Readonly<Record<string, unknown>>

/** Fields of a part that its neutral form has a place for; the others ride beside it. */
const KNOWN_FIELDS = new Set(['text', 'thought', 'thoughtSignature', 'inlineData', 'fileData', 'functionCall'])

/**
 * One wire part as neutral parts: the part itself and, when it has fields beside it that only this format knows
 * (`videoMetadata`, the signature of an image), an opaque part that the encoder puts back onto the part before it.
 *
 * @param callId the id of a function call that has none
 */
export function decodePart(wire: Json, callId: () => string): Part[] {
  const signature = signatureOf(wire)
  if (typeof wire.text === 'string') {
    const type = wire.thought === true ? 'reasoning' : 'text'
    return [{ type, text: wire.text, ...(signature !== undefined && { signature }) }, ...rider(wire, [])]
  }
  if (isObject(wire.functionCall)) return [decodeCall(wire.functionCall, signature, callId), ...rider(wire, [])]
  if (isObject(wire.inlineData) || isObject(wire.fileData)) {
    return [decodeMedia(wire), ...rider(wire, ['thought', 'thoughtSignature'])]
  }
  return Object.keys(wire).length === 0 ? [] : [{ type: 'opaque', format: FORMAT, value: wire }]
}

function signatureOf(wire: Json): string | undefined {
  const signature = wire.thoughtSignature
  return typeof signature === 'string' && signature !== PLACEHOLDER_SIGNATURE ? signature : undefined
}

function decodeCall(call: Json, signature: string | undefined, callId: () => string): ToolCallPart {
  return {
    type: 'tool-call',
    kind: 'function',
    id: typeof call.id === 'string' && call.id !== '' ? call.id : callId(),
    name: typeof call.name === 'string' ? call.name : '',
    arguments: JSON.stringify(call.args ?? {}),
    ...(signature !== undefined && { signature }),
  }
}

/** @param also known fields that the part's neutral form has no place for all the same */
function rider(wire: Json, also: readonly string[]): OpaquePart[] {
  const extra = Object.entries(wire).filter(
    ([key, value]) => (!KNOWN_FIELDS.has(key) || also.includes(key)) && value !== null && value !== undefined,
  )
  return extra.length === 0 ? [] : [{ type: 'opaque', format: FORMAT, value: Object.fromEntries(extra) }]
}

/**
 * Texts of one kind that follow each other are one, up to a signature: a stream sends one text in many parts, and its
 * signature in the last of them.
 */
export function joinPieces(parts: readonly Part[], kinds: ReadonlySet<Part['type']>): Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if ((part.type !== 'text' && part.type !== 'reasoning') || !kinds.has(part.type)) joined.push(part)
    else if (last?.type === part.type && last.signature === undefined) {
      joined[joined.length - 1] = { ...part, text: last.text + part.text }
    } else if (part.text !== '' || part.signature !== undefined) joined.push(part)
  }
  return joined
}

/**
 * An id that every call of an answer keeps, and that calls of other answers do not share, since clients send all of
 * them back: this format has ids for calls only sometimes.
 *
 * @param ordinal the call's place among the candidate's calls
 * @returns none for an answer that has no id itself: what would be made of its place alone, other answers share
 */
export function callIdOf(responseId: string, candidate: number, ordinal: number): string {
  return responseId === '' ? '' : derivedCallId(responseId, candidate, ordinal)
}

export function derivedCallId(responseId: string, candidate: number, ordinal: number): string {
  // Other formats allow 40 to 64 characters of this alphabet.
  const stem = responseId.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 32)
  return ['call', stem, candidate === 0 ? '' : `c${candidate}`, ordinal].filter(each => each !== '').join('_')
}

/**
 * What a candidate says about its sources. Offsets count UTF-8 bytes, which is how the vendor counts: a stream does not
 * keep the text that it would take to count otherwise.
 */
export function decodeCitations(candidate: Json): UrlCitation[] {
  return [...groundingCitations(candidate.groundingMetadata), ...citedSources(candidate.citationMetadata)]
}

/** In the order of the sources; a source that supports nothing in particular supports the answer. */
function groundingCitations(metadata: unknown): UrlCitation[] {
  if (!isObject(metadata) || !Array.isArray(metadata.groundingChunks)) return []
  const supports: unknown[] = Array.isArray(metadata.groundingSupports) ? metadata.groundingSupports : []
  return metadata.groundingChunks.flatMap((chunk, index): UrlCitation[] => {
    const web = isObject(chunk) ? (isObject(chunk.web) ? chunk.web : chunk.retrievedContext) : undefined
    if (!isObject(web) || typeof web.uri !== 'string') return []
    const supporting = supports
      .filter(isObject)
      .filter(({ groundingChunkIndices: indices }) => Array.isArray(indices) && indices.includes(index))
    const segments =
      supporting.length === 0 ? [{}] : supporting.map(({ segment }) => (isObject(segment) ? segment : {}))
    return segments.map(segment => citation(web, segment))
  })
}

function citedSources(metadata: unknown): UrlCitation[] {
  if (!isObject(metadata)) return []
  const sources = metadata.citationSources ?? metadata.citations
  if (!Array.isArray(sources)) return []
  return sources.filter(isObject).flatMap(source => (typeof source.uri === 'string' ? citation(source, source) : []))
}

function citation(source: Json, { startIndex, endIndex }: Json): UrlCitation {
  return {
    url: String(source.uri),
    ...(typeof source.title === 'string' && { title: source.title }),
    // Google leaves out an offset of zero.
    ...(typeof endIndex === 'number' && { startIndex: typeof startIndex === 'number' ? startIndex : 0, endIndex }),
  }
}

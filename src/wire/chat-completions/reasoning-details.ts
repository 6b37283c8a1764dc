import type { ReasoningPart } from '#core/call.ts'
import { isObject } from '../json/parse.ts'

const FORMAT = 'chat-completions'

type Json = Readonly<Record<string, unknown>>

const TEXT = 'reasoning.text'
const SUMMARY = 'reasoning.summary'
const ENCRYPTED = 'reasoning.encrypted'

/** Fields of an entry with a neutral meaning; the others (`id`, `format`, …) are part of what its host wants back. */
const KNOWN_FIELDS = new Set(['type', 'text', 'summary', 'data', 'signature', 'index'])

/**
 * Thoughts of a message, whole. The format has no field for them; hosts say them in `reasoning_content` or `reasoning`,
 * and those that seal them say them again, entry by entry, in `reasoning_details` (OpenRouter's, now a convention).
 */
export function decodeReasoning(message: Json): ReasoningPart[] {
  const details = Array.isArray(message.reasoning_details) ? message.reasoning_details : []
  const sealed = details.flatMap((entry, position) => (isObject(entry) ? (decodeDetail(entry, position) ?? []) : []))
  const plain = [message.reasoning_content, message.reasoning].find(text => typeof text === 'string' && text !== '')
  if (typeof plain !== 'string' || sealed.some(part => part.text !== '')) return sealed
  // The words are those of a signature without any; what is encrypted has none.
  const signed = sealed.find(part => part.signature !== undefined)
  if (signed) return sealed.map(part => (part === signed ? { ...part, text: plain } : part))
  return [{ type: 'reasoning', text: plain }, ...sealed]
}

/** @param position where the entry stands; `undefined` for one that a stream brings in pieces */
export function decodeDetail(entry: Json, position: number | undefined): ReasoningPart | undefined {
  const { type, index } = entry
  if (type !== TEXT && type !== SUMMARY && type !== ENCRYPTED) return undefined
  const text = type === SUMMARY ? entry.summary : entry.text
  const unknown = Object.entries(entry).filter(([key, value]) => !KNOWN_FIELDS.has(key) && value !== null)
  const isOutOfPlace = position !== undefined && index !== undefined && index !== position
  const fields = {
    ...Object.fromEntries(unknown),
    ...(type === SUMMARY && { type }),
    ...(isOutOfPlace && { index }),
  }
  return {
    type: 'reasoning',
    text: typeof text === 'string' && type !== ENCRYPTED ? text : '',
    ...(typeof entry.signature === 'string' && entry.signature !== '' && { signature: entry.signature }),
    ...(type === ENCRYPTED && typeof entry.data === 'string' && { encrypted: entry.data }),
    ...(Object.keys(fields).length > 0 && { extensions: { [FORMAT]: fields } }),
  }
}

/** `undefined` where no thought is sealed: then there is nothing to say beside the words. */
export function encodeReasoningDetails(parts: readonly ReasoningPart[]): Json[] | undefined {
  if (!parts.some(isSealed)) return undefined
  return parts.flatMap(encodeDetail).map((entry, index) => ({ index, ...entry }))
}

function isSealed({ signature, encrypted }: ReasoningPart): boolean {
  return signature !== undefined || encrypted !== undefined
}

function encodeDetail({ text, signature, encrypted, extensions }: ReasoningPart): Json[] {
  const fields = extensions?.[FORMAT]
  if (encrypted !== undefined) {
    return [...encodeWords(text), { type: ENCRYPTED, data: encrypted, ...fields }]
  }
  return encodeWords(text, signature).map(entry =>
    fields?.type === SUMMARY ? { type: SUMMARY, summary: text, ...fields } : { ...entry, ...fields },
  )
}

function encodeWords(text: string, signature?: string): Json[] {
  if (text === '' && signature === undefined) return []
  return [{ type: TEXT, text, ...(signature !== undefined && { signature }) }]
}

/** The seal of a tool call, as Google's chat-completions host has it. */
export function decodeCallSignature({ extra_content: extra }: Json): string | undefined {
  const google = isObject(extra) ? extra.google : undefined
  const signature = isObject(google) ? google.thought_signature : undefined
  return typeof signature === 'string' && signature !== '' ? signature : undefined
}

export function encodeCallSignature(signature: string | undefined): Json {
  return signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }
}

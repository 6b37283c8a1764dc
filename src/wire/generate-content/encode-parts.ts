import type { Part, ToolCallPart, UrlCitation } from '#core/call.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { aPart, type Warn } from '../losses.ts'
import { FORMAT } from './decode-parts.ts'
import { encodeMedia } from './media.ts'

export type Json = Record<string, unknown>

/** Fields of a wire part that say what it is; an opaque part without any belongs to the part before it. */
const DATA_FIELDS = new Set([
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
])

/** Neutral parts in the format's words; what it cannot say is left out and named. */
export function encodeParts(parts: readonly Part[], warn: Warn): Json[] {
  const wire: Json[] = []
  for (const part of parts) {
    const encoded = encodePart(part, warn)
    if (encoded === undefined) continue
    const last = wire.at(-1)
    if (part.type === 'opaque' && last && !Object.keys(encoded).some(key => DATA_FIELDS.has(key))) {
      wire[wire.length - 1] = { ...last, ...encoded }
    } else wire.push(encoded)
  }
  return wire
}

function encodePart(part: Part, warn: Warn): Json | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part.text, part.signature)
    case 'reasoning':
      return encodeText(part.text, part.signature, true)
    case 'refusal':
      return encodeText(part.text, undefined)
    case 'tool-call':
      return encodeCall(part, warn)
    case 'opaque':
      if (part.format === FORMAT && isObject(part.value)) return part.value
      break
    case 'image':
    case 'audio':
    case 'video':
    case 'document': {
      const media = encodeMedia(part)
      if (media) return media
      warn("another provider's file id")
      return undefined
    }
    case 'tool-result':
      break
  }
  warn(aPart(part))
  return undefined
}

/** The format refuses parts that are empty, unless they bring a signature. */
function encodeText(text: string, signature: string | undefined, isThought = false): Json | undefined {
  if (text === '' && signature === undefined) return undefined
  return { text, ...(isThought && { thought: true }), ...(signature !== undefined && { thoughtSignature: signature }) }
}

function encodeCall(part: ToolCallPart, warn: Warn): Json {
  const { id, name, signature } = part
  return {
    functionCall: { ...(id !== '' && { id }), name, args: encodeArguments(part, warn) },
    ...(signature !== undefined && { thoughtSignature: signature }),
  }
}

/** Arguments are an object here. Text that is none (free text, or broken JSON) becomes the one argument of that. */
function encodeArguments({ kind, arguments: written }: ToolCallPart, warn: Warn): Json {
  if (kind === 'function' && written.trim() === '') return {}
  const value = kind === 'function' ? tryParse(Buffer.from(written)) : undefined
  if (isObject(value)) return value
  warn(kind === 'custom' ? 'a custom tool call' : 'function arguments that are no JSON object')
  return { input: written }
}

/** A source for each citation, so that their order is kept. */
export function encodeCitations(citations: readonly UrlCitation[]): Json {
  return {
    groundingChunks: citations.map(({ url, title }) => ({ web: { uri: url, ...(title !== undefined && { title }) } })),
    groundingSupports: citations.flatMap(({ startIndex = 0, endIndex }, index) =>
      endIndex === undefined ? [] : [{ segment: { startIndex, endIndex }, groundingChunkIndices: [index] }],
    ),
  }
}

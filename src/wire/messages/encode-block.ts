import type { CacheBreakpoint, Extensions, Part, Source } from '#core/call.ts'
import { aPart, type Warn } from '../losses.ts'
import { FORMAT } from './decode-block.ts'
import { toolInput } from './tool-input.ts'

type Json = Record<string, unknown>
type PartOf<T extends Part['type']> = Extract<Part, { type: T }>

/** What blocks of one request share. */
export interface BlockContext {
  /** Names a thing that the format cannot say. */
  readonly lacks: Warn
}

/** A part as a content block of a request; none when the format has no such thing. */
export function encodeBlock(part: Part, context: BlockContext): Json[] {
  const encode = BLOCKS[part.type] as (part: Part, context: BlockContext) => Json[]
  return encode(part, context)
}

const BLOCKS: { readonly [T in Part['type']]: (part: PartOf<T>, context: BlockContext) => Json[] } = Object.freeze({
  text: (part, context) => {
    const extras = encodeExtras(part)
    // A citation is bound to the search that it came from by a seal of its own; without that it is refused.
    if (part.citations && !('citations' in extras)) context.lacks('citations')
    // The API refuses blank blocks.
    return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text, ...extras }]
  },
  refusal: part => (part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }]),
  image: part => [{ type: 'image', source: encodeSource(part.source, imageType), ...encodeExtras(part) }],
  document: part => [
    {
      type: 'document',
      source: encodeDocument(part.source),
      ...(part.filename !== undefined && { title: part.filename }),
      ...encodeExtras(part),
    },
  ],
  reasoning: (part, context) => {
    if (part.signature !== undefined) return [{ type: 'thinking', thinking: part.text, signature: part.signature }]
    if (part.encrypted !== undefined && part.text === '') return [{ type: 'redacted_thinking', data: part.encrypted }]
    // The API refuses thoughts that its own models have not sealed.
    context.lacks('reasoning without a signature')
    return []
  },
  'tool-call': part => [
    { type: 'tool_use', id: part.id, name: part.name, input: toolInput(part), ...encodeExtras(part) },
  ],
  // The result's own name is that of the call, which the id leads to.
  'tool-result': (part, context) => {
    const content = part.parts.flatMap(inner => encodeBlock(inner, context))
    return [
      {
        type: 'tool_result',
        tool_use_id: part.callId,
        ...(content.length > 0 && { content: encodeContent(content) }),
        ...(part.isError !== undefined && { is_error: part.isError }),
        ...encodeExtras(part),
      },
    ]
  },
  audio: (part, context) => {
    context.lacks(aPart(part))
    return part.transcript?.trim() ? [{ type: 'text', text: part.transcript }] : []
  },
  video: (part, context) => {
    context.lacks(aPart(part))
    return []
  },
  opaque: (part, context) => {
    if (part.format === FORMAT) return [part.value as Json]
    context.lacks(aPart(part))
    return []
  },
})

/** A lone text is sent as a string: every host that speaks the format reads that. */
export function encodeContent(blocks: readonly Json[]): unknown {
  const [only, second] = blocks
  const isPlain = second === undefined && only?.type === 'text' && Object.keys(only).length === 2
  return isPlain ? only.text : blocks
}

interface Holder {
  readonly cache?: CacheBreakpoint | undefined
  readonly extensions?: Extensions | undefined
}

/** The cache breakpoint of a part or a tool, and the fields that only this format has. */
export function encodeExtras({ cache, extensions = {} }: Holder): Json {
  return {
    ...extensions[FORMAT],
    ...(cache && { cache_control: { type: 'ephemeral', ...(cache.ttl && { ttl: cache.ttl }) } }),
  }
}

type Inlined = Extract<Source, { kind: 'base64' }>

function encodeSource(source: Source, mediaType: (source: Inlined) => string): Json {
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'file') return { type: 'file', file_id: source.id }
  return { type: 'base64', media_type: mediaType(source), data: source.data }
}

/** How the bytes of the four image types begin, in base64. */
const IMAGE_STARTS: readonly (readonly [start: string, mediaType: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

const UNTOLD_TYPES: ReadonlySet<string | undefined> = new Set([undefined, 'image/*', 'application/octet-stream'])

/** The API wants the type of every image and takes it at its word: one that is not told is read from the bytes. */
function imageType({ mediaType, data }: Inlined): string {
  if (mediaType === 'image/jpg') return 'image/jpeg'
  if (mediaType !== undefined && !UNTOLD_TYPES.has(mediaType)) return mediaType
  return IMAGE_STARTS.find(([start]) => data.startsWith(start))?.[1] ?? 'image/png'
}

/** Plain text travels as text here, every other document as bytes. */
function encodeDocument(source: Source): Json {
  if (source.kind === 'base64' && source.mediaType === 'text/plain') {
    const data = Buffer.from(source.data, 'base64').toString('utf8')
    return { type: 'text', media_type: 'text/plain', data }
  }
  return encodeSource(source, ({ mediaType }) => mediaType ?? 'application/pdf')
}

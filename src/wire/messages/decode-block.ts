import type { CacheBreakpoint, Part, Source, UrlCitation } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeCache } from '../cache-control.ts'
import { isObject } from '../json/parse.ts'

export const FORMAT = 'messages'

type Json = Readonly<Record<string, unknown>>

/**
 * Where a block stands, as its client writes it: then a field that is missing is the client's fault. `undefined` for
 * an upstream's block, in which it is empty.
 */
type Path = string | undefined

interface BlockKind {
  /** Fields that `decode` reads; all others but `cache_control` are this format's own. */
  readonly fields: readonly string[]
  /** `undefined` for a block that has no neutral meaning after all. */
  decode(block: Json, path: Path): Part | undefined
}

/** The content of a message, of the system prompt or of a tool result. */
export function decodeContent(content: unknown, path: Path): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).map((block, index) => decodeBlock(block, path && `${path}[${index}]`))
}

/** One content block; a type that is unknown here passes through opaquely. */
export function decodeBlock(block: Json, path: Path): Part {
  const kind = typeof block.type === 'string' && Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type] : undefined
  const part = kind?.decode(block, path)
  if (!kind || !part) return { type: 'opaque', format: FORMAT, value: block }
  return { ...part, ...decodeExtras(block, kind.fields) }
}

const BLOCKS: Readonly<Record<string, BlockKind>> = Object.freeze({
  text: {
    fields: ['text', 'citations'],
    decode: (block, path) => ({ type: 'text', text: text(block, 'text', path), ...decodeCitations(block.citations) }),
  },
  image: {
    fields: ['source'],
    decode: (block, path) => {
      const source = decodeSource(block, path)
      return source && { type: 'image', source }
    },
  },
  document: {
    fields: ['source', 'title'],
    decode: (block, path) => {
      const source = decodeSource(block, path)
      return source && { type: 'document', source, ...(typeof block.title === 'string' && { filename: block.title }) }
    },
  },
  thinking: {
    fields: ['thinking', 'signature'],
    decode: (block, path) => ({
      type: 'reasoning',
      text: text(block, 'thinking', path),
      // Ours is empty where no vendor has sealed the thought.
      ...(typeof block.signature === 'string' && block.signature !== '' && { signature: block.signature }),
    }),
  },
  redacted_thinking: {
    fields: ['data'],
    decode: (block, path) => ({ type: 'reasoning', text: '', encrypted: text(block, 'data', path) }),
  },
  tool_use: {
    fields: ['id', 'name', 'input'],
    decode: (block, path) => ({
      type: 'tool-call',
      kind: 'function',
      id: text(block, 'id', path),
      name: text(block, 'name', path),
      // Some hosts give arguments as JSON text, or none.
      arguments: typeof block.input === 'string' ? block.input : JSON.stringify(block.input ?? {}),
    }),
  },
  tool_result: {
    fields: ['tool_use_id', 'content', 'is_error'],
    decode: (block, path) => ({
      type: 'tool-result',
      callId: text(block, 'tool_use_id', path),
      parts: decodeContent(block.content, path && `${path}.content`),
      ...(typeof block.is_error === 'boolean' && { isError: block.is_error }),
    }),
  },
})

const SOURCES: Readonly<Record<string, (source: Json, path: Path) => Source>> = Object.freeze({
  base64: (source, path) => ({
    kind: 'base64',
    mediaType: typeof source.media_type === 'string' ? source.media_type : undefined,
    data: text(source, 'data', path),
  }),
  text: (source, path) => ({
    kind: 'base64',
    mediaType: 'text/plain',
    data: Buffer.from(text(source, 'data', path)).toString('base64'),
  }),
  url: (source, path) => ({ kind: 'url', url: text(source, 'url', path) }),
  file: (source, path) => ({ kind: 'file', id: text(source, 'file_id', path) }),
})

/** `undefined` when the source is of a kind that only this format has, such as a document made of blocks. */
function decodeSource(block: Json, path: Path): Source | undefined {
  const source = isObject(block.source) ? block.source : {}
  const type = text(source, 'type', path && `${path}.source`)
  const decode = Object.hasOwn(SOURCES, type) ? SOURCES[type] : undefined
  return decode?.(source, path && `${path}.source`)
}

function text(owner: Json, field: string, path: Path): string {
  const value = owner[field]
  if (typeof value === 'string') return value
  if (path === undefined) return ''
  throw new Fault('invalid_request', `\`${path}.${field}\` must be a string.`, { param: `${path}.${field}` })
}

interface Extras {
  readonly cache?: CacheBreakpoint
  readonly extensions?: Readonly<Record<string, Json>>
}

/** A block's or a tool's cache breakpoint, and the fields that only this format knows. */
export function decodeExtras(owner: Json, fields: readonly string[]): Extras {
  const cache = decodeCache(owner.cache_control)
  const known = new Set([...fields, 'type', ...(cache ? ['cache_control'] : [])])
  // A text's citations are neutral only in part: all of them stay as they are as well.
  const hasCitations = owner.type === 'text' && Array.isArray(owner.citations) && owner.citations.length > 0
  if (hasCitations) known.delete('citations')
  const extra = Object.entries(owner).filter(([field, value]) => !known.has(field) && value !== null)
  return {
    ...(cache && { cache }),
    ...(extra.length > 0 && { extensions: { [FORMAT]: Object.fromEntries(extra) } }),
  }
}

/** The citations that other formats know too: of pages on the web. */
export function decodeCitations(citations: unknown): { readonly citations?: UrlCitation[] } {
  if (!Array.isArray(citations)) return {}
  const ofPages = citations.flatMap((citation): UrlCitation[] => {
    if (!isObject(citation) || typeof citation.url !== 'string') return []
    return [{ url: citation.url, ...(typeof citation.title === 'string' && { title: citation.title }) }]
  })
  return ofPages.length === 0 ? {} : { citations: ofPages }
}

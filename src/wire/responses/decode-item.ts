import type { Extended, Part, ReasoningPart, ToolCallPart, UrlCitation } from '#core/call.ts'
import type { TokenLogprob } from '#core/result.ts'
import { decodeUrl } from '../data-url.ts'
import { isObject } from '../json/parse.ts'

export const FORMAT = 'responses'

export type Json = Readonly<Record<string, unknown>>

/** Between the texts of one reasoning item, which are one part in the neutral form. */
export const REASONING_SEPARATOR = '\n\n'

/**
 * The parts that one item of an assistant's turn stands for, be it an input or an output; an item that only this format
 * knows passes through opaquely. Ids and states of items are left behind: an id names what one upstream has stored,
 * and is refused by every other one.
 */
export function decodeItem(item: Json): Part[] {
  const type = item.type ?? 'message'
  const decode = typeof type === 'string' && Object.hasOwn(ITEMS, type) ? ITEMS[type] : undefined
  return decode ? decode(item) : [{ type: 'opaque', format: FORMAT, value: item }]
}

const ITEMS: Readonly<Record<string, (item: Json) => Part[]>> = Object.freeze({
  message: item => {
    const { id: _id, status: _status, ...message } = item
    const fields = unknownFields(item, MESSAGE_FIELDS)
    return decodeContent(item.content).map((part): Part => {
      // Beside other items of a turn, a part that only this format knows needs its message to stand in.
      if (part.type === 'opaque') return { ...part, value: { ...message, content: [part.value] } }
      return fields ? { ...part, ...extended({ ...ownFields(part), item: fields }) } : part
    })
  },
  function_call: item => [toolCall(item, 'function', item.arguments)],
  custom_tool_call: item => [toolCall(item, 'custom', item.input)],
  reasoning: item => {
    const text = reasoningText(item)
    return [{ type: 'reasoning', text, ...decodeSeal(item.encrypted_content), ...extended(reasoningFields(item)) }]
  },
})

const MESSAGE_FIELDS = new Set(['type', 'role', 'content', 'id', 'status'])
const CALL_FIELDS = new Set(['type', 'id', 'status', 'call_id', 'name', 'arguments', 'input'])
const REASONING_FIELDS = new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content'])

function unknownFields(owner: Json, known: ReadonlySet<string>): Json | undefined {
  const fields = Object.entries(owner).filter(([key, value]) => !known.has(key) && value !== null)
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}

/** What only this format knows about a part or a tool, where there is anything. */
export function extended(fields: Json | undefined): Extended {
  return fields && Object.keys(fields).length > 0 ? { extensions: { [FORMAT]: fields } } : {}
}

export function ownFields(owner: Extended): Json {
  return owner.extensions?.[FORMAT] ?? {}
}

export function extraFields(owner: Json, known: ReadonlySet<string>): Extended {
  return extended(unknownFields(owner, known))
}

function toolCall(item: Json, kind: ToolCallPart['kind'], written: unknown): ToolCallPart {
  return {
    type: 'tool-call',
    kind,
    // `id` names the item, `call_id` the call: results refer to the latter. A host without it has but one of them.
    id: stringOf(item.call_id) || stringOf(item.id),
    name: stringOf(item.name),
    // Some hosts send the arguments as an object where the format wants JSON text.
    arguments: typeof written === 'string' ? written : JSON.stringify(written ?? {}),
    ...extraFields(item, CALL_FIELDS),
  }
}

function reasoningTexts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter(isObject).map(each => stringOf(each.text)) : []
}

export function reasoningText(item: Json): string {
  return [...reasoningTexts(item.summary), ...reasoningTexts(item.content)].join(REASONING_SEPARATOR)
}

/** Texts that are not one summary are kept as they came, since a part has but one text. */
function reasoningFields(item: Json): Json {
  const { summary, content } = item
  const isPlain = Array.isArray(summary) && summary.length < 2 && (!Array.isArray(content) || content.length === 0)
  return { ...unknownFields(item, REASONING_FIELDS), ...(!isPlain && { summary: summary ?? [], content }) }
}

export function decodeSeal(seal: unknown): Pick<ReasoningPart, 'encrypted'> {
  return typeof seal === 'string' && seal !== '' ? { encrypted: seal } : {}
}

/** The parts of a message or of a tool's output. */
export function decodeContent(content: unknown): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).map(decodeContentPart)
}

/** @param part checked before, when a client sent it: what is missing is taken for empty */
function decodeContentPart(part: Json): Part {
  const decode = typeof part.type === 'string' && Object.hasOwn(PARTS, part.type) ? PARTS[part.type] : undefined
  return decode?.(part) ?? { type: 'opaque', format: FORMAT, value: part }
}

const TEXT_FIELDS = new Set(['type', 'text', 'annotations', 'logprobs'])
const REFUSAL_FIELDS = new Set(['type', 'refusal'])
const IMAGE_FIELDS = new Set(['type', 'image_url', 'file_id', 'detail'])
const FILE_FIELDS = new Set(['type', 'file_id', 'file_data', 'file_url', 'filename'])

const textPart = (part: Json): Part => {
  const { citations, others } = decodeAnnotations(part.annotations)
  const rest = { ...unknownFields(part, TEXT_FIELDS), ...(others.length > 0 && { annotations: others }) }
  return { type: 'text', text: stringOf(part.text), ...(citations && { citations }), ...extended(rest) }
}

/** Content part types by their `type`; one that is missing here, or not of the known kind, passes through opaquely. */
const PARTS: Readonly<Record<string, (part: Json) => Part | undefined>> = Object.freeze({
  input_text: textPart,
  output_text: textPart,
  text: textPart,
  refusal: part => ({ type: 'refusal', text: stringOf(part.refusal), ...extraFields(part, REFUSAL_FIELDS) }),
  input_image: part => {
    const extra = {
      ...(typeof part.detail === 'string' && { detail: part.detail }),
      ...extraFields(part, IMAGE_FIELDS),
    }
    if (typeof part.image_url === 'string') return { type: 'image', source: decodeUrl(part.image_url), ...extra }
    if (typeof part.file_id !== 'string') return undefined
    return { type: 'image', source: { kind: 'file', id: part.file_id }, ...extra }
  },
  input_file: part => {
    const extra = {
      ...(typeof part.filename === 'string' && { filename: part.filename }),
      ...extraFields(part, FILE_FIELDS),
    }
    if (typeof part.file_id === 'string') {
      return { type: 'document', source: { kind: 'file', id: part.file_id }, ...extra }
    }
    const url = part.file_url ?? part.file_data
    return typeof url === 'string' ? { type: 'document', source: decodeUrl(url), ...extra } : undefined
  },
  input_audio: part => {
    const { data, format } = isObject(part.input_audio) ? part.input_audio : {}
    if (typeof data !== 'string' || typeof format !== 'string') return undefined
    return { type: 'audio', source: { kind: 'base64', mediaType: `audio/${format}`, data }, format }
  },
})

/** Citations of the web, and the annotations that only this format knows. */
export function decodeAnnotations(annotations: unknown): { citations: UrlCitation[] | undefined; others: Json[] } {
  const all = Array.isArray(annotations) ? annotations.filter(isObject) : []
  const isCitation = (each: Json) => each.type === 'url_citation' && typeof each.url === 'string'
  const citations = all.filter(isCitation).map(
    (each): UrlCitation => ({
      url: stringOf(each.url),
      ...(typeof each.title === 'string' && { title: each.title }),
      ...(typeof each.start_index === 'number' && { startIndex: each.start_index }),
      ...(typeof each.end_index === 'number' && { endIndex: each.end_index }),
    }),
  )
  return { citations: citations.length > 0 ? citations : undefined, others: all.filter(each => !isCitation(each)) }
}

export function decodeLogprobs(logprobs: unknown): TokenLogprob[] | undefined {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return undefined
  return logprobs.filter(isObject).map(entry => ({
    ...decodeToken(entry),
    top: Array.isArray(entry.top_logprobs) ? entry.top_logprobs.filter(isObject).map(decodeToken) : [],
  }))
}

function decodeToken(entry: Json): Omit<TokenLogprob, 'top'> {
  return {
    token: stringOf(entry.token),
    logprob: typeof entry.logprob === 'number' ? entry.logprob : 0,
    ...(Array.isArray(entry.bytes) && { bytes: entry.bytes as number[] }),
  }
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

import type { ImagePart, ReasoningPart, ToolCallPart, UrlCitation } from '#core/call.ts'
import type { TokenLogprob } from '#core/result.ts'
import { type Json, ownFields, SIGNATURE_MARK } from './decode-item.ts'

/** A call's item without its signature. */
export function encodeToolCall(part: ToolCallPart): Json {
  const fields = ownFields(part)
  const call = { call_id: part.id, name: part.name }
  return part.kind === 'custom'
    ? { ...fields, type: 'custom_tool_call', ...call, input: part.arguments }
    : { ...fields, type: 'function_call', ...call, arguments: part.arguments }
}

/** Reasoning without its seal. */
export function encodeReasoning(part: Pick<ReasoningPart, 'text' | 'extensions'>): Json {
  const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
  return { type: 'reasoning', summary, ...ownFields(part) }
}

/**
 * What a client keeps of a part's seals and echoes in the next turn. The format has one place for them and typed
 * clients forget all others, so a signature of another vendor is marked in it.
 */
export function encodeSeal(part: Pick<ReasoningPart, 'signature' | 'encrypted'>): string | undefined {
  return part.encrypted ?? (part.signature === undefined ? undefined : SIGNATURE_MARK + part.signature)
}

/** Models draw by a tool here; an image that comes without one is told as if that tool had made it. */
export function encodeImageItem({ source }: ImagePart): Json | undefined {
  return source.kind === 'base64' ? { type: 'image_generation_call', result: source.data } : undefined
}

export function encodeCitation(citation: UrlCitation): Json {
  const { url, title = '', startIndex = 0, endIndex = 0 } = citation
  return { type: 'url_citation', url, title, start_index: startIndex, end_index: endIndex }
}

export function encodeLogprobs(logprobs: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>) => ({ token, logprob, ...(bytes && { bytes }) })
  return logprobs.map(entry => ({ ...token(entry), top_logprobs: entry.top.map(token) }))
}

/** Prefixes of item ids as OpenAI has them. */
const ID_PREFIXES: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
  ['image_generation_call', 'ig'],
])

/** An item's id follows from its response and its place, so it is the same in every event and in the whole answer. */
export function itemId(responseId: string, type: string, index: number): string {
  return `${ID_PREFIXES.get(type) ?? 'item'}_${responseId.replace(/^resp_/, '')}_${index}`
}

import type { ImagePart, ReasoningPart, ToolCallPart, UrlCitation } from '#core/call.ts'
import type { TokenLogprob } from '#core/result.ts'
import { type Json, ownFields } from './decode-item.ts'

export function encodeToolCall(part: ToolCallPart): Json {
  const fields = ownFields(part)
  const call = { call_id: part.id, name: part.name }
  return part.kind === 'custom'
    ? { ...fields, type: 'custom_tool_call', ...call, input: part.arguments }
    : { ...fields, type: 'function_call', ...call, arguments: part.arguments }
}

/** An image as the call of the tool that draws; `undefined` for one that is not here, for which there is no word. */
export function encodeImage({ source }: ImagePart): Json | undefined {
  return source.kind === 'base64' ? { type: 'image_generation_call', result: source.data } : undefined
}

export function encodeReasoning(part: Pick<ReasoningPart, 'text' | 'encrypted' | 'extensions'>): Json {
  const { text, encrypted } = part
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return {
    type: 'reasoning',
    summary,
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
    ...ownFields(part),
  }
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

/**
 * An item's id follows from its response and its place, so it is the same in every event and in the whole answer.
 *
 * @param place its index in the output, or any other word that no other item of the response has
 */
export function itemId(responseId: string, type: string, place: number | string): string {
  return `${ID_PREFIXES.get(type) ?? 'item'}_${responseId.replace(/^resp_/, '')}_${place}`
}

import type { Part, ToolCallPart, UrlCitation } from '#core/call.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import type { AnswerContext } from '../format.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeImage } from './images.ts'
import { encodeCallSignature, encodeReasoningDetails } from './reasoning-details.ts'
import { encodeUsage } from './usage.ts'

const FORMAT = 'chat-completions'

type Json = Record<string, unknown>

/** neutral → client (see `WireFormat`). */
export function encodeResponse(result: Result, context: AnswerContext): Json {
  return {
    id: result.id,
    object: 'chat.completion',
    created: result.createdAt,
    model: context.publicModel,
    choices: result.choices.map(encodeChoice),
    ...(result.usage && { usage: encodeUsage(result.usage) }),
    ...(result.serviceTier !== undefined && { service_tier: result.serviceTier }),
    ...result.extensions[FORMAT],
  }
}

function encodeChoice(choice: Choice): Json {
  return {
    index: choice.index,
    message: encodeMessage(choice.parts),
    logprobs: choice.logprobs ? { content: encodeLogprobs(choice.logprobs), refusal: null } : null,
    finish_reason: encodeFinish(choice.finish),
  }
}

/** `content` and `refusal` stand even when null: typed clients read them without asking. */
function encodeMessage(parts: readonly Part[]): Json {
  const joined = (type: 'text' | 'refusal' | 'reasoning') => {
    const texts = parts.flatMap(part => (part.type === type && 'text' in part ? part.text : []))
    return texts.length === 0 ? null : texts.join('')
  }
  const citations = parts.flatMap(part => (part.type === 'text' ? (part.citations ?? []) : []))
  const calls = parts.filter(part => part.type === 'tool-call').map(encodeToolCall)
  const images = parts.flatMap(part => (part.type === 'image' ? encodeImage(part) : []))
  const audio = parts.find(part => part.type === 'audio')
  const reasoning = joined('reasoning')
  const details = encodeReasoningDetails(parts.filter(part => part.type === 'reasoning'))
  return {
    role: 'assistant',
    content: joined('text'),
    refusal: joined('refusal'),
    ...(reasoning && { reasoning_content: reasoning }),
    ...(details && { reasoning_details: details }),
    ...(citations.length > 0 && { annotations: citations.map(encodeCitation) }),
    ...(audio?.source.kind === 'base64' && { audio: { data: audio.source.data, transcript: audio.transcript ?? '' } }),
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

export function encodeToolCall(part: ToolCallPart): Json {
  const { id, name, kind, arguments: written, signature } = part
  const call =
    kind === 'custom'
      ? { id, type: 'custom', custom: { name, input: written } }
      : { id, type: 'function', function: { name, arguments: written } }
  return { ...call, ...encodeCallSignature(signature) }
}

export function encodeCitation(citation: UrlCitation): Json {
  const { url, title = '', startIndex = 0, endIndex = 0 } = citation
  return { type: 'url_citation', url_citation: { url, title, start_index: startIndex, end_index: endIndex } }
}

export function encodeLogprobs(logprobs: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes = null }: Omit<TokenLogprob, 'top'>) => ({ token, logprob, bytes })
  return logprobs.map(entry => ({ ...token(entry), top_logprobs: entry.top.map(token) }))
}

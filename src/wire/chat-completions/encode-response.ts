import type { ImagePart, Part, ToolCallPart, UrlCitation } from '#core/call.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import { encodeUrl } from '../data-url.ts'
import type { AnswerContext } from '../format.ts'
import { encodeFinish } from './finish-reason.ts'
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
  const audio = parts.find(part => part.type === 'audio')
  const images = parts.filter(part => part.type === 'image').flatMap(encodeImage)
  const reasoning = joined('reasoning')
  return {
    role: 'assistant',
    content: joined('text'),
    refusal: joined('refusal'),
    ...(reasoning !== null && { reasoning_content: reasoning }),
    ...(citations.length > 0 && { annotations: citations.map(encodeCitation) }),
    ...(audio?.source.kind === 'base64' && { audio: { data: audio.source.data, transcript: audio.transcript ?? '' } }),
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/** OpenAI's chat models draw nothing; hosts of models that do have agreed on this shape (OpenRouter, image output). */
export function encodeImage({ source }: ImagePart, index: number): Json[] {
  return source.kind === 'file' ? [] : [{ type: 'image_url', image_url: { url: encodeUrl(source) }, index }]
}

function encodeToolCall(part: ToolCallPart): Json {
  return part.kind === 'custom'
    ? { id: part.id, type: 'custom', custom: { name: part.name, input: part.arguments } }
    : { id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments } }
}

export function encodeCitation(citation: UrlCitation): Json {
  const { url, title = '', startIndex = 0, endIndex = 0 } = citation
  return { type: 'url_citation', url_citation: { url, title, start_index: startIndex, end_index: endIndex } }
}

export function encodeLogprobs(logprobs: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes = null }: Omit<TokenLogprob, 'top'>) => ({ token, logprob, bytes })
  return logprobs.map(entry => ({ ...token(entry), top_logprobs: entry.top.map(token) }))
}

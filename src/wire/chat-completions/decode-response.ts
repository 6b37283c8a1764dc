import type { Part, UrlCitation } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import { isObject } from '../json/parse.ts'
import { decodeFault } from '../openai-fault.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeCallSignature, decodeReasoning, decodeSaid } from './reasoning-details.ts'
import { decodeUsage } from './usage.ts'

const FORMAT = 'chat-completions'

const KNOWN_FIELDS = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier'])

type Json = Readonly<Record<string, unknown>>

/** upstream → neutral (see `WireFormat`). */
export function decodeResponse(body: unknown): Result {
  if (isObject(body) && isObject(body.error)) throw decodeFault(200, body)
  if (!isObject(body) || !Array.isArray(body.choices)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that is no chat completion.', { cause: body })
  }
  const extra = Object.entries(body).filter(([key, value]) => !KNOWN_FIELDS.has(key) && value !== null)
  return {
    id: typeof body.id === 'string' ? body.id : '',
    model: typeof body.model === 'string' ? body.model : '',
    createdAt: typeof body.created === 'number' ? body.created : 0,
    choices: body.choices.filter(isObject).map(decodeChoice),
    usage: decodeUsage(body.usage),
    ...(typeof body.service_tier === 'string' && { serviceTier: body.service_tier }),
    extensions: extra.length === 0 ? {} : { [FORMAT]: Object.fromEntries(extra) },
  }
}

function decodeChoice(choice: Json, position: number): Choice {
  const logprobs = isObject(choice.logprobs) ? decodeLogprobs(choice.logprobs.content) : undefined
  return {
    index: typeof choice.index === 'number' ? choice.index : position,
    parts: isObject(choice.message) ? decodeMessage(choice.message) : [],
    finish: decodeFinish(choice.finish_reason),
    ...(logprobs && { logprobs }),
  }
}

/** Reasoning first, then what was said, then what is to be called: the order in which models produce them. */
function decodeMessage(message: Json): Part[] {
  const parts: Part[] = [...decodeReasoning(message)]
  const citations = decodeCitations(message.annotations)
  const said = decodeSaid(message.content)
  const cited = said.findLast(({ type }) => type === 'text')
  parts.push(...said.map((part): Part => (part === cited && citations ? { ...cited, type: 'text', citations } : part)))
  if (typeof message.refusal === 'string') parts.push({ type: 'refusal', text: message.refusal })
  if (isObject(message.audio)) parts.push(decodeAudio(message.audio))
  parts.push(...decodeToolCalls(message))
  return parts
}

function decodeAudio(audio: Json): Part {
  return {
    type: 'audio',
    source: { kind: 'base64', mediaType: undefined, data: typeof audio.data === 'string' ? audio.data : '' },
    ...(typeof audio.transcript === 'string' && { transcript: audio.transcript }),
  }
}

function decodeToolCalls(message: Json): Part[] {
  const legacy = isObject(message.function_call)
    ? [{ id: message.function_call.name, function: message.function_call }]
    : []
  const calls: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : legacy
  return calls.filter(isObject).map((call): Part => {
    const isCustom = isObject(call.custom)
    const inner: Json = isObject(call.custom) ? call.custom : isObject(call.function) ? call.function : {}
    const written = isCustom ? inner.input : inner.arguments
    const signature = decodeCallSignature(call)
    return {
      type: 'tool-call',
      kind: isCustom ? 'custom' : 'function',
      id: typeof call.id === 'string' ? call.id : '',
      name: typeof inner.name === 'string' ? inner.name : '',
      // Some hosts send the arguments as an object where the format wants JSON text.
      arguments: typeof written === 'string' ? written : JSON.stringify(written ?? {}),
      ...(signature !== undefined && { signature }),
    }
  })
}

export function decodeCitations(annotations: unknown): UrlCitation[] | undefined {
  if (!Array.isArray(annotations)) return undefined
  const citations = annotations.flatMap((annotation): UrlCitation[] => {
    const citation = isObject(annotation) ? annotation.url_citation : undefined
    if (!isObject(citation) || typeof citation.url !== 'string') return []
    return [
      {
        url: citation.url,
        ...(typeof citation.title === 'string' && { title: citation.title }),
        ...(typeof citation.start_index === 'number' && { startIndex: citation.start_index }),
        ...(typeof citation.end_index === 'number' && { endIndex: citation.end_index }),
      },
    ]
  })
  return citations.length === 0 ? undefined : citations
}

export function decodeLogprobs(content: unknown): TokenLogprob[] | undefined {
  if (!Array.isArray(content)) return undefined
  return content.filter(isObject).map(entry => ({
    ...decodeToken(entry),
    top: Array.isArray(entry.top_logprobs) ? entry.top_logprobs.filter(isObject).map(decodeToken) : [],
  }))
}

function decodeToken(entry: Json): Omit<TokenLogprob, 'top'> {
  return {
    token: typeof entry.token === 'string' ? entry.token : '',
    logprob: typeof entry.logprob === 'number' ? entry.logprob : 0,
    ...(Array.isArray(entry.bytes) && { bytes: entry.bytes as number[] }),
  }
}

import type { Part, UrlCitation } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import { isObject } from '../json/parse.ts'
import { decodeFault } from '../openai-fault.ts'
import { calledTool } from './called-tool.ts'
import { decodeContent } from './content.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeImages } from './images.ts'
import { decodeCallSignature, decodeReasoning } from './reasoning-details.ts'
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
    choices: body.choices.filter(isObject).map((choice, i) => decodeChoice(choice, i, decodeSources(body))),
    usage: decodeUsage(body.usage),
    ...(typeof body.service_tier === 'string' && { serviceTier: body.service_tier }),
    extensions: extra.length === 0 ? {} : { [FORMAT]: Object.fromEntries(extra) },
  }
}

function decodeChoice(choice: Json, position: number, sources: readonly UrlCitation[] | undefined): Choice {
  const logprobs = isObject(choice.logprobs) ? decodeLogprobs(choice.logprobs.content) : undefined
  const parts = isObject(choice.message) ? decodeMessage(choice.message, sources) : []
  return {
    index: typeof choice.index === 'number' ? choice.index : position,
    parts,
    finish: decodeFinish(choice.finish_reason, { hasToolCalls: parts.some(part => part.type === 'tool-call') }),
    ...(logprobs && { logprobs }),
  }
}

/** Reasoning first, then what was said, then what is to be called: the order in which models produce them. */
function decodeMessage(message: Json, sources: readonly UrlCitation[] | undefined): Part[] {
  const parts: Part[] = [...decodeReasoning(message), ...decodeWords(message, sources)]
  if (typeof message.refusal === 'string' && message.refusal !== '') {
    parts.push({ type: 'refusal', text: message.refusal })
  }
  if (isObject(message.audio)) parts.push(...decodeAudio(message.audio))
  parts.push(...decodeImages(message.images), ...decodeToolCalls(message))
  return parts
}

/** Annotations are of the message, and sources of the answer: they stand with the last of its texts. */
function decodeWords({ content, annotations }: Json, sources: readonly UrlCitation[] | undefined): Part[] {
  const words = decodeContent(content)
    .filter(said => said.type === 'opaque' || said.text !== '')
    .map((said): Part => (said.type === 'opaque' ? { ...said, format: FORMAT } : said))
  const citations = decodeCitations(annotations) ?? sources
  const last = words.findLastIndex(part => part.type === 'text')
  return citations ? words.map((part, i) => (i === last ? { ...part, citations } : part)) : words
}

/** Some hosts write out an empty sound beside every text. */
function decodeAudio({ data, transcript }: Json): Part[] {
  if (!data && !transcript) return []
  return [
    {
      type: 'audio',
      source: { kind: 'base64', mediaType: undefined, data: typeof data === 'string' ? data : '' },
      ...(typeof transcript === 'string' && { transcript }),
    },
  ]
}

function decodeToolCalls(message: Json): Part[] {
  const { tool_calls, function_call } = message
  const legacy = isObject(function_call) ? [{ id: function_call.name, function: function_call }] : []
  const calls: unknown[] = Array.isArray(tool_calls) ? tool_calls : legacy
  return calls.filter(isObject).map((call): Part => {
    const { kind, name, written } = calledTool(call)
    const signature = decodeCallSignature(call)
    return {
      type: 'tool-call',
      kind,
      id: typeof call.id === 'string' ? call.id : '',
      name: typeof name === 'string' ? name : '',
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

/** What an answer or a chunk was written from, as Perplexity has it: addresses, and beside them perhaps their titles. */
export function decodeSources({ citations, search_results: results }: Json): UrlCitation[] | undefined {
  if (!Array.isArray(citations) || citations.length === 0) return undefined
  const titles = new Map<unknown, unknown>()
  if (Array.isArray(results)) for (const each of results.filter(isObject)) titles.set(each.url, each.title)
  return citations
    .filter(url => typeof url === 'string')
    .map(url => {
      const title = titles.get(url)
      return { url, ...(typeof title === 'string' && { title }) }
    })
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

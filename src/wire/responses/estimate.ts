import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { audioTokens, TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE, textTokens } from '../token-estimate.ts'
import type { ResponsesItem, ResponsesRequest } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/**
 * A guess of the request's tokens: its text by length, its media by kind, and the output it allows. A prompt that is
 * kept elsewhere cannot be seen in the request and is not in the guess.
 */
export function estimate(body: ResponsesRequest, limits: ModelLimits): Usage {
  const instructions = body.instructions ? TOKENS_PER_MESSAGE + textTokens(Buffer.byteLength(body.instructions)) : 0
  const tools = body.tools ? jsonTokens(body.tools) : 0
  const wantedInput = instructions + tools + inputTokensOf(body.input)
  const wanted = body.max_output_tokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  return {
    inputTokens: Math.min(wantedInput, limits.contextLength ?? Number.POSITIVE_INFINITY),
    outputTokens: Math.min(wanted, limits.maxOutputTokens ?? wanted),
  }
}

function inputTokensOf(input: ResponsesRequest['input']): number {
  if (typeof input === 'string') return TOKENS_PER_MESSAGE + textTokens(Buffer.byteLength(input))
  return (input ?? []).reduce((sum, item) => sum + TOKENS_PER_MESSAGE + itemTokens(item), 0)
}

/** A message or the output of a tool by its content, every other item by all that it says. */
function itemTokens(item: ResponsesItem): number {
  const content = item.content ?? item.output
  if (typeof content === 'string') return textTokens(Buffer.byteLength(content))
  if (Array.isArray(content)) return content.reduce((sum: number, part) => sum + partTokens(part), 0)
  return jsonTokens(item)
}

function partTokens(part: Readonly<Record<string, unknown>>): number {
  if (typeof part.text === 'string') return textTokens(Buffer.byteLength(part.text))
  if (typeof part.refusal === 'string') return textTokens(Buffer.byteLength(part.refusal))
  if (isObject(part.input_audio) && typeof part.input_audio.data === 'string') {
    return audioTokens(part.input_audio.data.length)
  }
  return TOKENS_PER_IMAGE
}

function jsonTokens(value: unknown): number {
  return textTokens(Buffer.byteLength(JSON.stringify(value)))
}

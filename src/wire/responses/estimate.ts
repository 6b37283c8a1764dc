import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { type TokenMeasure, TYPICAL } from '../token-estimate.ts'
import type { ResponsesItem, ResponsesRequest } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/**
 * The request's tokens: its text by length, its media by kind, and the output it allows. A prompt that is kept
 * elsewhere cannot be seen in the request and is not counted.
 */
export function estimate(body: ResponsesRequest, limits: ModelLimits, measure: TokenMeasure = TYPICAL): Usage {
  const { instructions, tools, text } = body
  const said = instructions ? measure.message + measure.text(Buffer.byteLength(instructions)) : 0
  const schemas = (tools ? measure.tools + jsonTokens(tools, measure) : 0) + (text ? jsonTokens(text, measure) : 0)
  const all = said + schemas + inputTokensOf(body.input, measure)
  const wanted = body.max_output_tokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  return {
    inputTokens: Math.min(all, limits.contextLength ?? Number.POSITIVE_INFINITY),
    outputTokens: Math.min(wanted, limits.maxOutputTokens ?? wanted),
  }
}

function inputTokensOf(input: ResponsesRequest['input'], measure: TokenMeasure): number {
  if (typeof input === 'string') return measure.message + measure.text(Buffer.byteLength(input))
  return (input ?? []).reduce((sum, item) => sum + measure.message + itemTokens(item, measure), 0)
}

/** A message or the output of a tool by its content, every other item by all that it says. */
function itemTokens(item: ResponsesItem, measure: TokenMeasure): number {
  const content = item.content ?? item.output
  if (typeof content === 'string') return measure.text(Buffer.byteLength(content))
  if (Array.isArray(content)) return content.reduce((sum: number, part) => sum + partTokens(part, measure), 0)
  return jsonTokens(item, measure)
}

function partTokens(part: Readonly<Record<string, unknown>>, measure: TokenMeasure): number {
  for (const text of [part.text, part.refusal]) {
    if (typeof text === 'string') return measure.text(Buffer.byteLength(text))
  }
  if (isObject(part.input_audio) && typeof part.input_audio.data === 'string') {
    return measure.audio(part.input_audio.data.length)
  }
  if (part.type === 'input_file') {
    return typeof part.file_data === 'string' ? measure.document(part.file_data.length) : measure.elsewhere
  }
  return measure.image
}

function jsonTokens(value: unknown, measure: TokenMeasure): number {
  return measure.text(Buffer.byteLength(JSON.stringify(value)))
}

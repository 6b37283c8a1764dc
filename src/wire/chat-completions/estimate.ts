import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { type TokenMeasure, TYPICAL } from '../token-estimate.ts'
import { translationInstruction } from '../translation-instruction.ts'
import { decodeTranslation } from './decode-request.ts'
import type { ChatCompletionsRequest, ChatMessage } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** The request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: ChatCompletionsRequest, limits: ModelLimits, measure: TokenMeasure = TYPICAL): Usage {
  const { tools, response_format: responseFormat, translation_options: translation } = body
  const messages = body.messages.reduce((sum, message) => sum + messageTokens(message, measure), 0)
  const schemas = (tools ? measure.tools + jsonTokens(tools, measure) : 0) + jsonTokens(responseFormat, measure)
  const all = messages + schemas + (translation ? instructionTokens(body, measure) : 0)
  const inputTokens = Math.min(all, limits.contextLength ?? Number.POSITIVE_INFINITY)
  const wanted = body.max_completion_tokens ?? body.max_tokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  const outputTokens = Math.min(wanted, limits.maxOutputTokens ?? wanted) * (body.n ?? 1)
  return { inputTokens, outputTokens }
}

/** Of what is said to the model in the client's stead. */
function instructionTokens({ translation_options: options }: ChatCompletionsRequest, measure: TokenMeasure): number {
  const translation = decodeTranslation(options)
  return translation ? measure.message + measure.text(Buffer.byteLength(translationInstruction(translation))) : 0
}

/** Members of a message that the model does not read as text, or that are counted by their parts. */
const NOT_TEXT = new Set(['role', 'name', 'tool_call_id', 'content'])

function messageTokens(message: ChatMessage, measure: TokenMeasure): number {
  let tokens = measure.message + contentTokens(message.content, measure)
  for (const [key, value] of Object.entries(message)) if (!NOT_TEXT.has(key)) tokens += jsonTokens(value, measure)
  return tokens
}

function contentTokens(content: ChatMessage['content'], measure: TokenMeasure): number {
  if (typeof content === 'string') return measure.text(Buffer.byteLength(content))
  return (content ?? []).reduce((sum, part) => sum + partTokens(part, measure), 0)
}

function partTokens(part: Readonly<Record<string, unknown>>, measure: TokenMeasure): number {
  for (const text of [part.text, part.refusal]) {
    if (typeof text === 'string') return measure.text(Buffer.byteLength(text))
  }
  if (isObject(part.input_audio) && typeof part.input_audio.data === 'string') {
    return measure.audio(part.input_audio.data.length)
  }
  if (isObject(part.file)) {
    return typeof part.file.file_data === 'string' ? measure.document(part.file.file_data.length) : measure.elsewhere
  }
  return measure.image
}

function jsonTokens(value: unknown, measure: TokenMeasure): number {
  return value === undefined || value === null ? 0 : measure.text(Buffer.byteLength(JSON.stringify(value)))
}

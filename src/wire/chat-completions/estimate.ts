import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { audioTokens, TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE, textTokens } from '../token-estimate.ts'
import { translationInstruction } from '../translation-instruction.ts'
import { decodeTranslation } from './decode-request.ts'
import type { ChatCompletionsRequest, ChatMessage } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** A guess of the request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: ChatCompletionsRequest, limits: ModelLimits): Usage {
  const messages = body.messages.reduce((sum, message) => sum + messageTokens(message), 0)
  const tools = body.tools ? textTokens(Buffer.byteLength(JSON.stringify(body.tools))) : 0
  const inputTokens = Math.min(
    messages + tools + instructionTokens(body),
    limits.contextLength ?? Number.POSITIVE_INFINITY,
  )
  const wanted = body.max_completion_tokens ?? body.max_tokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  const outputTokens = Math.min(wanted, limits.maxOutputTokens ?? wanted) * (body.n ?? 1)
  return { inputTokens, outputTokens }
}

/** Of what is said to the model in the client's stead. */
function instructionTokens({ translation_options: options }: ChatCompletionsRequest): number {
  const translation = decodeTranslation(options)
  return translation ? TOKENS_PER_MESSAGE + textTokens(Buffer.byteLength(translationInstruction(translation))) : 0
}

function messageTokens(message: ChatMessage): number {
  const calls = message.tool_calls ? textTokens(Buffer.byteLength(JSON.stringify(message.tool_calls))) : 0
  return TOKENS_PER_MESSAGE + calls + contentTokens(message.content)
}

function contentTokens(content: ChatMessage['content']): number {
  if (typeof content === 'string') return textTokens(Buffer.byteLength(content))
  return (content ?? []).reduce((sum, part) => sum + partTokens(part), 0)
}

function partTokens(part: Readonly<Record<string, unknown>>): number {
  if (typeof part.text === 'string') return textTokens(Buffer.byteLength(part.text))
  if (isObject(part.input_audio) && typeof part.input_audio.data === 'string') {
    return audioTokens(part.input_audio.data.length)
  }
  return TOKENS_PER_IMAGE
}

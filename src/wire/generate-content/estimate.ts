import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { audioTokens, TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE, textTokens } from '../token-estimate.ts'
import type { GenerateContentRequest, WireContent, WirePart } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** A guess of the request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: GenerateContentRequest, limits: ModelLimits): Usage {
  const { systemInstruction, contents, tools, generationConfig } = body
  const system = systemInstruction ? contentTokens(systemInstruction) : 0
  const conversation = contents.reduce((sum, content) => sum + contentTokens(content), 0)
  const schemas = tools ? jsonTokens(tools) : 0
  const inputTokens = Math.min(system + conversation + schemas, limits.contextLength ?? Number.POSITIVE_INFINITY)
  const wanted = generationConfig?.maxOutputTokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  const outputTokens = Math.min(wanted, limits.maxOutputTokens ?? wanted) * (generationConfig?.candidateCount ?? 1)
  return { inputTokens, outputTokens }
}

function contentTokens(content: WireContent | string): number {
  if (typeof content === 'string') return TOKENS_PER_MESSAGE + textTokens(Buffer.byteLength(content))
  return TOKENS_PER_MESSAGE + (content.parts ?? []).reduce((sum, part) => sum + partTokens(part), 0)
}

function partTokens(part: WirePart): number {
  if (typeof part.text === 'string') return textTokens(Buffer.byteLength(part.text))
  if (isObject(part.inlineData)) {
    const { mimeType, data } = part.inlineData
    if (mimeType?.startsWith('audio/')) return audioTokens(data.length)
    if (mimeType?.startsWith('text/')) return textTokens((data.length * 3) / 4)
    return TOKENS_PER_IMAGE
  }
  return isObject(part.fileData) ? TOKENS_PER_IMAGE : jsonTokens(part)
}

function jsonTokens(value: unknown): number {
  return textTokens(Buffer.byteLength(JSON.stringify(value)))
}

import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { type TokenMeasure, TYPICAL } from '../token-estimate.ts'
import type { GenerateContentRequest, WireContent, WirePart } from './schema.ts'

/** Without a cap of its own, a request may use all that the model can say; without that, this. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** The request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: GenerateContentRequest, limits: ModelLimits, measure: TokenMeasure = TYPICAL): Usage {
  const { systemInstruction, contents, tools, generationConfig: config } = body
  const system = systemInstruction ? contentTokens(systemInstruction, measure) : 0
  const conversation = contents.reduce((sum, content) => sum + contentTokens(content, measure), 0)
  const schemas = (tools ? measure.tools + jsonTokens(tools, measure) : 0) + schemaTokens(config, measure)
  const inputTokens = Math.min(system + conversation + schemas, limits.contextLength ?? Number.POSITIVE_INFINITY)
  const wanted = config?.maxOutputTokens ?? limits.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  const outputTokens = Math.min(wanted, limits.maxOutputTokens ?? wanted) * (config?.candidateCount ?? 1)
  return { inputTokens, outputTokens }
}

function schemaTokens(config: GenerateContentRequest['generationConfig'], measure: TokenMeasure): number {
  const schema = config?.responseJsonSchema ?? config?.responseSchema
  return schema ? jsonTokens(schema, measure) : 0
}

function contentTokens(content: WireContent | string, measure: TokenMeasure): number {
  if (typeof content === 'string') return measure.message + measure.text(Buffer.byteLength(content))
  return measure.message + (content.parts ?? []).reduce((sum, part) => sum + partTokens(part, measure), 0)
}

function partTokens(part: WirePart, measure: TokenMeasure): number {
  if (typeof part.text === 'string') return measure.text(Buffer.byteLength(part.text))
  if (isObject(part.inlineData)) return mediaTokens(part.inlineData, measure)
  if (isObject(part.fileData)) return isImage(part.fileData) ? measure.image : measure.elsewhere
  return jsonTokens(part, measure)
}

function mediaTokens({ mimeType, data }: Media, measure: TokenMeasure): number {
  const type = mimeType ?? ''
  if (isImage({ mimeType })) return measure.image
  if (type.startsWith('audio/')) return measure.audio(data.length)
  if (type.startsWith('text/')) return measure.text((data.length * 3) / 4)
  return measure.document(data.length)
}

type Media = NonNullable<WirePart['inlineData']>

function isImage({ mimeType }: { readonly mimeType?: string | null | undefined }): boolean {
  return mimeType?.startsWith('image/') ?? false
}

function jsonTokens(value: unknown, measure: TokenMeasure): number {
  return measure.text(Buffer.byteLength(JSON.stringify(value)))
}

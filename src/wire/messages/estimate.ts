import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { type TokenMeasure, TYPICAL } from '../token-estimate.ts'
import type { MessagesRequest } from './schema.ts'

/** The request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: MessagesRequest, limits: ModelLimits, measure: TokenMeasure = TYPICAL): Usage {
  const messages = body.messages.reduce(
    (sum, { content }) => sum + measure.message + contentTokens(content, measure),
    0,
  )
  const tools = body.tools ? measure.tools + jsonTokens(body.tools, measure) : 0
  const all = contentTokens(body.system, measure) + messages + tools
  const inputTokens = Math.min(all, limits.contextLength ?? Number.POSITIVE_INFINITY)
  const outputTokens = Math.min(body.max_tokens, limits.maxOutputTokens ?? body.max_tokens)
  return { inputTokens, outputTokens }
}

function contentTokens(content: unknown, measure: TokenMeasure): number {
  if (typeof content === 'string') return measure.text(Buffer.byteLength(content))
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, block: unknown) => sum + (isObject(block) ? blockTokens(block, measure) : 0), 0)
}

/** A thought that is sealed counts as the text that it hides: both are about as long. */
function blockTokens(block: Readonly<Record<string, unknown>>, measure: TokenMeasure): number {
  for (const text of [block.text, block.thinking, block.data]) {
    if (typeof text === 'string') return measure.text(Buffer.byteLength(text))
  }
  const { source } = block
  if (isObject(source)) return sourceTokens(block.type, source, measure)
  if (block.type === 'tool_result') return contentTokens(block.content, measure)
  return jsonTokens(block, measure)
}

function sourceTokens(type: unknown, source: Readonly<Record<string, unknown>>, measure: TokenMeasure): number {
  if (source.type === 'text') return contentTokens(source.data, measure)
  if (source.type === 'content') return contentTokens(source.content, measure)
  if (type !== 'document') return measure.image
  return typeof source.data === 'string' ? measure.document(source.data.length) : measure.elsewhere
}

function jsonTokens(value: unknown, measure: TokenMeasure): number {
  return measure.text(Buffer.byteLength(JSON.stringify(value)))
}

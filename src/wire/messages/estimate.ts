import type { Usage } from '#core/usage.ts'
import type { ModelLimits } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE, textTokens } from '../token-estimate.ts'
import type { MessagesRequest } from './schema.ts'

/** A guess of the request's tokens: its text by length, its media by kind, and the output it allows. */
export function estimate(body: MessagesRequest, limits: ModelLimits): Usage {
  const messages = body.messages.reduce((sum, { content }) => sum + TOKENS_PER_MESSAGE + contentTokens(content), 0)
  const tools = body.tools ? jsonTokens(body.tools) : 0
  const all = contentTokens(body.system) + messages + tools
  const inputTokens = Math.min(all, limits.contextLength ?? Number.POSITIVE_INFINITY)
  const outputTokens = Math.min(body.max_tokens, limits.maxOutputTokens ?? body.max_tokens)
  return { inputTokens, outputTokens }
}

function contentTokens(content: unknown): number {
  if (typeof content === 'string') return textTokens(Buffer.byteLength(content))
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, block: unknown) => sum + (isObject(block) ? blockTokens(block) : 0), 0)
}

/** A thought that is sealed counts as the text that it hides: both are about as long. */
function blockTokens(block: Readonly<Record<string, unknown>>): number {
  for (const text of [block.text, block.thinking, block.data]) {
    if (typeof text === 'string') return textTokens(Buffer.byteLength(text))
  }
  const { source } = block
  if (isObject(source)) return source.type === 'text' ? contentTokens(source.data) : TOKENS_PER_IMAGE
  if (block.type === 'tool_result') return contentTokens(block.content)
  return jsonTokens(block)
}

function jsonTokens(value: unknown): number {
  return textTokens(Buffer.byteLength(JSON.stringify(value)))
}

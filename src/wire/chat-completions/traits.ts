import { beginning, type FormatTraits, needsWhere } from '../traits.ts'
import type { ChatCompletionsRequest } from './schema.ts'

export function readTraits(request: ChatCompletionsRequest): FormatTraits {
  const { messages, tools, functions, response_format, modalities, reasoning_effort } = request as Readable
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return {
    needs: needsWhere({
      tools: isFilled(tools) || isFilled(functions),
      vision: parts.some(({ type }) => type === 'image_url'),
      audio: parts.some(({ type }) => type === 'input_audio') || modalities?.includes('audio') === true,
      json_schema: response_format?.type === 'json_schema',
      reasoning: typeof reasoning_effort === 'string' && reasoning_effort !== 'none',
    }),
    cacheKey: request.prompt_cache_key ?? undefined,
    opening: beginning(messages, ({ role }) => role === 'user'),
    isSealed: messages.some(message => isFilled((message as Readonly<Record<string, unknown>>).reasoning_details)),
  }
}

/** `functions` is the name that tools had first. */
type Readable = ChatCompletionsRequest & { readonly functions?: unknown }

function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0
}

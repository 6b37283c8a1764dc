import { beginning, type FormatTraits, needsWhere } from '../traits.ts'
import type { ResponsesRequest } from './schema.ts'

export function readTraits(request: ResponsesRequest): FormatTraits {
  const { input, instructions, tools, reasoning, text, prompt_cache_key } = request
  const items = Array.isArray(input) ? input : []
  const parts = items.flatMap(({ content, output }) =>
    [content, output].flatMap(each => (Array.isArray(each) ? each : [])),
  )
  const effort = reasoning?.effort
  return {
    needs: needsWhere({
      tools: Array.isArray(tools) && tools.length > 0,
      vision: parts.some(({ type }) => type === 'input_image'),
      audio: parts.some(({ type }) => type === 'input_audio'),
      json_schema: text?.format?.type === 'json_schema',
      reasoning: typeof effort === 'string' && effort !== 'none',
    }),
    cacheKey: prompt_cache_key ?? undefined,
    opening: [instructions, typeof input === 'string' ? input : beginning(items, ({ role }) => role === 'user')],
    isSealed: items.some(({ type }) => type === 'reasoning'),
  }
}

import { isObject } from '../json/parse.ts'
import { beginning, type FormatTraits, needsWhere } from '../traits.ts'
import type { MessagesRequest } from './schema.ts'

const SEALED = new Set(['thinking', 'redacted_thinking'])

export function readTraits(request: MessagesRequest): FormatTraits {
  const { messages, system, tools, thinking, output_config, output_format } = request
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content.flatMap(withResult) : []))
  const format = output_config?.format ?? output_format
  return {
    needs: needsWhere({
      tools: Array.isArray(tools) && tools.length > 0,
      vision: blocks.some(({ type }) => type === 'image'),
      json_schema: format?.type === 'json_schema',
      reasoning: isObject(thinking) && thinking.type !== 'disabled',
    }),
    opening: [system, beginning(messages, ({ role }) => role === 'user')],
    isSealed: blocks.some(({ type }) => SEALED.has(type)),
  }
}

type Block = { readonly type: string } & Readonly<Record<string, unknown>>

/** Results of tools hold blocks of their own. */
function withResult(block: Block): Block[] {
  const inner = block.type === 'tool_result' && Array.isArray(block.content) ? block.content.filter(isObject) : []
  return [block, ...(inner as unknown as Block[])]
}

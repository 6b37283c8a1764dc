import { Fault } from '#core/fault.ts'
import { tokenCount } from '#core/usage.ts'
import type { TokenCounting } from '../format.ts'
import { pickFields } from '../json/fields.ts'
import { isObject } from '../json/parse.ts'

/** What the endpoint takes of a request; it refuses every other field (Anthropic API reference, token counting). */
const FIELDS = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
  'context_management',
  'mcp_servers',
]

/** `POST /v1/messages/count_tokens`. */
export const tokenCounting: TokenCounting = Object.freeze({
  // How long the answer may get does not matter here, but a request must say it.
  readRequest: (body: Readonly<Record<string, unknown>>) => ({ ...body, max_tokens: 1, stream: false }),
  encodeRequest: (request: Readonly<Record<string, unknown>>) => pickFields(request, FIELDS),
  decodeAnswer: (body: unknown) => {
    const tokens = isObject(body) ? tokenCount(body.input_tokens) : undefined
    if (tokens === undefined) throw new Fault('upstream_error', 'The model provider sent an answer that is no count.')
    return tokens
  },
  encodeAnswer: (tokens: number) => ({ input_tokens: tokens }),
})

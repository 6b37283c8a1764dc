import { Fault } from '#core/fault.ts'
import { tokenCount } from '#core/usage.ts'
import type { TokenCounting } from '../format.ts'
import { pickFields } from '../json/fields.ts'
import { isObject } from '../json/parse.ts'

/** What the endpoint takes of a request (OpenAI API reference, "Get input token counts"). */
const FIELDS = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'truncation',
  'conversation',
  'previous_response_id',
]

/** `POST /v1/responses/input_tokens`. */
export const tokenCounting: TokenCounting = Object.freeze({
  readRequest: (body: Readonly<Record<string, unknown>>) => ({ ...body, stream: false }),
  encodeRequest: (request: Readonly<Record<string, unknown>>) => pickFields(request, FIELDS),
  decodeAnswer: (body: unknown) => {
    const tokens = isObject(body) ? tokenCount(body.input_tokens) : undefined
    if (tokens === undefined) throw new Fault('upstream_error', 'The model provider sent an answer that is no count.')
    return tokens
  },
  encodeAnswer: (tokens: number) => ({ object: 'response.input_tokens', input_tokens: tokens }),
})

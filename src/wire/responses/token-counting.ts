import { Fault } from '#core/fault.ts'
import { tokenCount } from '#core/usage.ts'
import type { Target } from '#core/work.ts'
import type { TokenCounting } from '../format.ts'
import { applyEdits } from '../json/edit.ts'
import { pickFields } from '../json/fields.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { unstoredEdits } from './unstored.ts'

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
]

/** `POST /v1/responses/input_tokens`. */
export const tokenCounting: TokenCounting = Object.freeze({
  readRequest: (body: Readonly<Record<string, unknown>>) => ({ ...body, stream: false }),
  encodeRequest: (request: Readonly<Record<string, unknown>>, target: Target) => {
    const bytes = Buffer.from(JSON.stringify(request))
    const unstored = tryParse(applyEdits(bytes, unstoredEdits(bytes, target)))
    return pickFields(isObject(unstored) ? unstored : {}, FIELDS)
  },
  decodeAnswer: (body: unknown) => {
    const tokens = isObject(body) ? tokenCount(body.input_tokens) : undefined
    if (tokens === undefined) throw new Fault('upstream_error', 'The model provider sent an answer that is no count.')
    return tokens
  },
  encodeAnswer: (tokens: number) => ({ object: 'response.input_tokens', input_tokens: tokens }),
})

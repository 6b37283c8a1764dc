import { Fault } from '#core/fault.ts'
import type { Result, TokenLogprob } from '#core/result.ts'
import { isObject } from '../json/parse.ts'
import { decodeItem, decodeLogprobs, FORMAT, type Json, stringOf } from './decode-item.ts'
import { decodeFailure } from './fault.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeUsage } from './usage.ts'

const KNOWN_FIELDS = new Set([
  'id',
  'object',
  'created_at',
  'model',
  'status',
  'error',
  'incomplete_details',
  'output',
  // Clients compute it from the output.
  'output_text',
  'usage',
  'service_tier',
])

/** upstream → neutral (see `WireFormat`). */
export function decodeResponse(body: unknown): Result {
  checkResponse(body)
  const items = body.output.filter(isObject)
  const parts = items.flatMap(decodeItem)
  const logprobs = items.flatMap(logprobsOf)
  const extra = Object.entries(body).filter(([key, value]) => !KNOWN_FIELDS.has(key) && value !== null)
  const finish = decodeFinish(
    body,
    parts.some(part => part.type === 'tool-call'),
  )
  return {
    id: stringOf(body.id),
    model: stringOf(body.model),
    createdAt: typeof body.created_at === 'number' ? body.created_at : 0,
    choices: [{ index: 0, parts, finish, ...(logprobs.length > 0 && { logprobs }) }],
    usage: decodeUsage(body.usage),
    ...(typeof body.service_tier === 'string' && { serviceTier: body.service_tier }),
    extensions: extra.length === 0 ? {} : { [FORMAT]: Object.fromEntries(extra) },
  }
}

/** @throws Fault when a success status carries a failed response, an error or something else */
export function checkResponse(body: unknown): asserts body is Json & { readonly output: readonly unknown[] } {
  if (isObject(body) && (isObject(body.error) || body.status === 'failed')) throw decodeFailure(body.error)
  if (isObject(body) && Array.isArray(body.output)) return
  throw new Fault('upstream_error', 'The model provider sent an answer that is no response.', { cause: body })
}

function logprobsOf(item: Json): TokenLogprob[] {
  const content = Array.isArray(item.content) ? item.content.filter(isObject) : []
  return content.flatMap(part => decodeLogprobs(part.logprobs) ?? [])
}

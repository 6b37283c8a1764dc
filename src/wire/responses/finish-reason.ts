import type { Finish, FinishReason } from '#core/result.ts'
import { isObject } from '../json/parse.ts'

/** By `incomplete_details.reason` or, without one, by `status`. */
const DECODED: ReadonlyMap<string, FinishReason> = new Map([
  ['completed', 'stop'],
  ['max_output_tokens', 'length'],
  ['content_filter', 'refusal'],
  ['failed', 'error'],
  // A background response goes on without the client.
  ['queued', 'pause'],
  ['in_progress', 'pause'],
])

type Ending = Readonly<Record<string, unknown>>

const COMPLETED: Ending = Object.freeze({ status: 'completed', error: null, incomplete_details: null })

function incomplete(reason: string): Ending {
  return Object.freeze({ status: 'incomplete', error: null, incomplete_details: { reason } })
}

const ENCODED: Readonly<Record<FinishReason, Ending>> = Object.freeze({
  stop: COMPLETED,
  'stop-sequence': COMPLETED,
  length: incomplete('max_output_tokens'),
  'tool-calls': COMPLETED,
  refusal: incomplete('content_filter'),
  pause: COMPLETED,
  error: Object.freeze({
    status: 'failed',
    error: { code: 'server_error', message: 'The model broke its answer off.' },
    incomplete_details: null,
  }),
  other: COMPLETED,
})

/**
 * Why a response ended. The format has no word for "the model wants tools to be called": a completed response with
 * calls means that.
 */
export function decodeFinish(response: Readonly<Record<string, unknown>>, hasToolCalls: boolean): Finish {
  const details = response.incomplete_details
  const raw = [isObject(details) ? details.reason : undefined, response.status].find(each => typeof each === 'string')
  if (raw === undefined) return { reason: 'other', raw: undefined }
  const reason = DECODED.get(raw as string) ?? 'other'
  return { reason: reason === 'stop' && hasToolCalls ? 'tool-calls' : reason, raw: raw as string }
}

/** The fields of a response that say how it ended. */
export function encodeFinish(finish: Finish): Ending {
  return ENCODED[finish.reason]
}

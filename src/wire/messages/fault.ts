import { errorBody, Fault, type FaultCode } from '#core/fault.ts'
import { blankCredentials } from '#lib/scrub.ts'
import { isObject } from '../json/parse.ts'

/** HTTP statuses and their error types (Anthropic API reference, errors). */
const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

const STATUSES: ReadonlyMap<string, number> = new Map([...TYPES].map(([status, type]) => [type, status]))

/** The status that this format has for a fault, where that is not the gateway's own. */
const STATUS_OF_CODE: Readonly<Partial<Record<FaultCode, number>>> = Object.freeze({
  model_not_found: 404,
  upstream_error: 500,
  all_channels_failed: 529,
  service_unavailable: 529,
})

/** The API has no code for it, only this sentence. */
const PROMPT_TOO_LONG = /prompt is too long|exceeds? (the )?(maximum )?context/i

/**
 * What an upstream's error means to our client. As in every format, what concerns *our* account is never the client's
 * fault: only errors about the request itself keep their status and the upstream's words.
 *
 * @param status HTTP status; 200 for an error that arrived inside a good answer or a stream, whose type then says it
 */
export function decodeFault(status: number, body: unknown): Fault {
  const error = isObject(body) && isObject(body.error) ? body.error : {}
  const type = typeof error.type === 'string' ? error.type : undefined
  // Some hosts repeat the key that they were sent, which is ours.
  const message =
    typeof error.message === 'string' && error.message !== '' ? blankCredentials(error.message) : undefined
  const cause = { status, error: body }
  const meant = status === 200 ? STATUSES.get(type ?? '') : status
  if (meant === 400 && message !== undefined && PROMPT_TOO_LONG.test(message)) {
    return new Fault('context_length_exceeded', message, { cause })
  }
  if (meant === 400 || meant === 422) {
    return new Fault('invalid_request', message ?? 'The model refused the request as invalid.', { cause })
  }
  if (meant === 413) {
    return new Fault('payload_too_large', message ?? 'The request is too large for this model.', { cause })
  }
  if (meant === 408 || meant === 504) return new Fault('timeout_error', 'The model did not answer in time.', { cause })
  if (meant === 402 || meant === 429 || meant === 503 || meant === 529) {
    return new Fault('all_channels_failed', 'No provider can take this request at the moment.', { cause })
  }
  return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
}

/** The envelope and the types of this format; code, field and hints stand beside them as the gateway has them. */
export function encodeFault(fault: Fault, requestId?: string): { status: number; body: Record<string, unknown> } {
  const status = STATUS_OF_CODE[fault.code] ?? fault.status
  const type = TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const error = { ...errorBody(fault).error, message: messageOf(fault), type }
  return { status, body: { type: 'error', error, ...(requestId !== undefined && { request_id: requestId }) } }
}

/** Programs of this family know an overflow, for which there is no code, by its first words. */
function messageOf({ code, message }: Fault): string {
  if (code !== 'context_length_exceeded' || /prompt is too long/i.test(message)) return message
  return `prompt is too long: ${message}`
}

import { type ErrorBody, errorBody, Fault } from '#core/fault.ts'
import { blankCredentials } from '#lib/scrub.ts'
import { isObject } from './json/parse.ts'

/**
 * What an upstream's error means to our client. The upstream speaks about *our* account: that its key is refused, its
 * quota used up or its rate limit hit is never the client's fault, so only errors about the request itself keep their
 * status. Upstream text is passed on only there, where it names what to change.
 *
 * @param status HTTP status; 200 for an error that arrived inside a good answer or a stream
 */
export function decodeFault(status: number, body: unknown): Fault {
  const error = isObject(body) && isObject(body.error) ? body.error : {}
  const code = typeof error.code === 'string' ? error.code : undefined
  // Some hosts repeat the key that they were sent, which is ours.
  const message =
    typeof error.message === 'string' && error.message !== '' ? blankCredentials(error.message) : undefined
  const param = typeof error.param === 'string' ? error.param : undefined
  const cause = { status, error: body }
  if (code === 'context_length_exceeded') {
    return new Fault('context_length_exceeded', message ?? 'The input is too long for this model.', { param, cause })
  }
  if (status === 400 || status === 422) {
    return new Fault('invalid_request', message ?? 'The model refused the request as invalid.', { param, cause })
  }
  if (status === 413) {
    return new Fault('payload_too_large', message ?? 'The request is too large for this model.', { param, cause })
  }
  if (status === 408 || status === 504)
    return new Fault('timeout_error', 'The model did not answer in time.', { cause })
  if (status === 402 || status === 429 || status === 503 || status === 529) {
    return new Fault('all_channels_failed', 'No provider can take this request at the moment.', { cause })
  }
  return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
}

/** The gateway's own error object is this family's: OpenAI's four keys and the hint fields of the spec. */
export function encodeFault(fault: Fault): { status: number; body: ErrorBody } {
  return { status: fault.status, body: errorBody(fault) }
}

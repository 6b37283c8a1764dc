import { type ErrorBody, errorBody, Fault } from '#core/fault.ts'
import { blankCredentials } from '#lib/scrub.ts'
import { isObject } from './json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * What an upstream's error means to our client. The upstream speaks about *our* account: that its key is refused, its
 * quota used up, its rate limit hit or its model unknown is never the client's fault, so only errors about the request
 * itself keep their status. Upstream text is passed on only there, where it names what to change.
 *
 * @param status HTTP status; 200 for an error that arrived inside a good answer or a stream
 */
export function decodeFault(status: number, body: unknown): Fault {
  const error = fieldsOf(body)
  // Some hosts repeat the key that they were sent, which is ours.
  const message =
    typeof error.message === 'string' && error.message !== '' ? blankCredentials(error.message) : undefined
  const param = typeof error.param === 'string' ? error.param : undefined
  const cause = { status, error: body }
  const meant = status < 400 ? (statusOf(error) ?? status) : status
  if (error.code === 'context_length_exceeded' || (isAboutRequest(meant) && isOverflow(error))) {
    return new Fault('context_length_exceeded', message ?? 'The input is too long for this model.', { param, cause })
  }
  if (isAboutRequest(meant) && !isAboutAccount(error)) {
    return new Fault('invalid_request', message ?? 'The model refused the request as invalid.', { param, cause })
  }
  if (meant === 413) {
    return new Fault('payload_too_large', message ?? 'The request is too large for this model.', { param, cause })
  }
  if (meant === 408 || meant === 504) return new Fault('timeout_error', 'The model did not answer in time.', { cause })
  if (meant === 402 || meant === 429 || meant === 503 || meant === 529) {
    return new Fault('all_channels_failed', 'No provider can take this request at the moment.', { cause })
  }
  return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
}

/** The error object. xAI has a text in its place, and Mistral its fields at the top. */
function fieldsOf(body: unknown): Json {
  if (!isObject(body)) return {}
  if (isObject(body.error)) return body.error
  return typeof body.error === 'string' ? { ...body, message: body.error } : body
}

/** The status that an error would have had on its own: OpenRouter tells it, and Azure's filter judges the prompt. */
function statusOf({ code }: Json): number | undefined {
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  return code === 'content_filter' ? 400 : undefined
}

function isAboutRequest(status: number): boolean {
  return status === 400 || status === 422
}

/** Most hosts have no code for it. */
const OVERFLOW =
  /\bmax(imum)? context length\b|\bexceeds?\b.{0,30}\bcontext (window|size|length)\b|\bprompt is too long\b/i

function isOverflow({ message, type }: Json): boolean {
  // Perplexity
  if (type === 'too_many_prompt_tokens') return true
  return typeof message === 'string' && OVERFLOW.test(message)
}

/** Some hosts answer 400 to a key or a model that they do not know, and both are ours. */
function isAboutAccount({ code, message }: Json): boolean {
  if (code === 'model_not_found' || code === 'invalid_api_key') return true
  return typeof message === 'string' && /\b(incorrect|invalid) api key\b/i.test(message)
}

/** The gateway's own error object is this family's: OpenAI's four keys and the hint fields of the spec. */
export function encodeFault(fault: Fault): { status: number; body: ErrorBody } {
  return { status: fault.status, body: errorBody(fault) }
}

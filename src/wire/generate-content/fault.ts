import { FAULT_KINDS, Fault } from '#core/fault.ts'
import { blankCredentials } from '#lib/scrub.ts'
import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * What an upstream's error means to our client. The upstream speaks about *our* account: that its key is refused, its
 * quota used up or its region not served is never the client's fault, so only errors about the request itself keep
 * their status. Upstream text is passed on only there, where it names what to change.
 *
 * @param status HTTP status; 200 for an error that arrived inside a good answer or a stream and names its own
 */
export function decodeFault(status: number, body: unknown): Fault {
  // A stream that is a JSON array wraps its error in one as well.
  const [first] = Array.isArray(body) ? body : [body]
  const error: Json = isObject(first) && isObject(first.error) ? first.error : {}
  const effective = status < 400 && typeof error.code === 'number' ? error.code : status
  const cause = { status, error: body }
  if (isAboutOurAccount(error)) {
    return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
  }
  // Some hosts repeat the key that they were sent, which is ours.
  const message =
    typeof error.message === 'string' && error.message !== '' ? blankCredentials(error.message) : undefined
  if (message !== undefined && CONTEXT_OVERFLOW.test(message))
    return new Fault('context_length_exceeded', message, { cause })
  if (effective === 400 || effective === 422) {
    const options = { param: fieldOf(error), cause }
    return new Fault('invalid_request', message ?? 'The model refused the request as invalid.', options)
  }
  if (effective === 413) {
    return new Fault('payload_too_large', message ?? 'The request is too large for this model.', { cause })
  }
  if (effective === 408 || effective === 504) {
    return new Fault('timeout_error', 'The model did not answer in time.', { cause })
  }
  if (effective === 402 || effective === 429 || effective === 503) {
    return new Fault('all_channels_failed', 'No provider can take this request at the moment.', { cause })
  }
  return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
}

/** The format has no code of its own for it. */
const CONTEXT_OVERFLOW = /\btoken count\b.*\bexceeds the maximum\b/i

/** A bad key and a country that is not served come as 400, like mistakes of the client. */
function isAboutOurAccount(error: Json): boolean {
  if (error.status === 'FAILED_PRECONDITION') return true
  return detailsOf(error).some(({ reason }) => typeof reason === 'string' && reason.startsWith('API_KEY_'))
}

function fieldOf(error: Json): string | undefined {
  const violations = detailsOf(error).flatMap(({ fieldViolations }) =>
    Array.isArray(fieldViolations) ? fieldViolations.filter(isObject) : [],
  )
  const field = violations[0]?.field
  return typeof field === 'string' && field !== '' ? field : undefined
}

function detailsOf({ details }: Json): Json[] {
  return Array.isArray(details) ? details.filter(isObject) : []
}

/** The word of the family for each HTTP status (google.rpc.Code). */
const STATUS_WORDS: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  // The family has no status for an empty purse; this is its word for billing.
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [405, 'UNIMPLEMENTED'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [413, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [431, 'INVALID_ARGUMENT'],
  [500, 'INTERNAL'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
])

const TYPE = 'type.googleapis.com/google.rpc'
const DOMAIN = 'tollgate'

/** Google's error object; the gateway's own code and hints stand in its details. */
export function encodeFault(fault: Fault): { status: number; body: unknown } {
  // A model that is not there is a path that is not there.
  const status = fault.code === 'model_not_found' ? 404 : fault.status
  const { param, message } = fault
  const { retryAfterSeconds } = fault.hints
  const details = [
    { '@type': `${TYPE}.ErrorInfo`, reason: reasonOf(fault), domain: DOMAIN, metadata: metadataOf(fault) },
    ...(param === undefined
      ? []
      : [{ '@type': `${TYPE}.BadRequest`, fieldViolations: [{ field: param, description: message }] }]),
    ...(retryAfterSeconds === undefined ? [] : [{ '@type': `${TYPE}.RetryInfo`, retryDelay: `${retryAfterSeconds}s` }]),
  ]
  return { status, body: { error: { code: status, message, status: STATUS_WORDS.get(status) ?? 'UNKNOWN', details } } }
}

function reasonOf({ code }: Fault): string {
  return (FAULT_KINDS[code].code ?? FAULT_KINDS[code].type).toUpperCase()
}

/** Texts only, as the family has it. */
function metadataOf({ hints }: Fault): Record<string, string> {
  const { didYouMean, suggestions, hint, balanceUsd, estimatedCostUsd, alternatives, requestId } = hints
  return {
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
    ...(suggestions !== undefined && { suggestions: suggestions.join(', ') }),
    ...(hint !== undefined && { hint }),
    ...(balanceUsd !== undefined && { balance_usd: balanceUsd }),
    ...(estimatedCostUsd !== undefined && { estimated_cost_usd: estimatedCostUsd }),
    ...(alternatives !== undefined && { alternatives: alternatives.map(({ id }) => id).join(', ') }),
    ...(requestId !== undefined && { request_id: requestId }),
  }
}

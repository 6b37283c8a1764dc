import { Fault } from '#core/fault.ts'
import { blankCredentials } from '#lib/scrub.ts'
import { isObject, tryParse } from './json/parse.ts'

/** Exceptions that come as events, when the status is sent long since (Bedrock API reference, InvokeModel errors). */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['accessdeniedexception', 403],
  ['internalserverexception', 500],
  ['modelerrorexception', 424],
  ['modelnotreadyexception', 429],
  ['modelstreamerrorexception', 424],
  ['modeltimeoutexception', 408],
  ['resourcenotfoundexception', 404],
  ['servicequotaexceededexception', 429],
  ['serviceunavailableexception', 503],
  ['throttlingexception', 429],
  ['validationexception', 400],
])

/** What an exception inside a stream means to our client. @param name of its type, e.g. `throttlingException` */
export function decodeAwsException(name: string, body: Readonly<Record<string, unknown>>): Fault {
  return faultOf(STATUSES.get(name.toLowerCase()) ?? 500, { ...body, exception: name })
}

/**
 * What an error status of an AWS service means to our client. As in every format, what concerns *our* account is never
 * the client's fault: only errors about the request itself keep their status and the upstream's words.
 */
export function decodeAwsFault(status: number, bytes: Buffer): Fault {
  return faultOf(status, tryParse(bytes))
}

/** There are no codes for it, only these sentences. */
const CONTEXT_OVERFLOW = /\b(input|prompt) is too long\b|\bexceeds? (the )?(model's )?(maximum )?context/i

/** Models that our account has not or may call in another way only, which come as 400, like mistakes of the client. */
const ABOUT_OUR_ACCOUNT =
  /\bmodel identifier\b|\bon-demand throughput\b|\binference profile\b|\boperation not allowed\b|\bservice quota\b|\byour account\b/i

function faultOf(status: number, body: unknown): Fault {
  const message = messageOf(body)
  const cause = { status, error: body }
  if (status === 400 && message !== undefined && CONTEXT_OVERFLOW.test(message)) {
    return new Fault('context_length_exceeded', message, { cause })
  }
  if ((status === 400 || status === 422) && !(message !== undefined && ABOUT_OUR_ACCOUNT.test(message))) {
    return new Fault('invalid_request', message ?? 'The model refused the request as invalid.', { cause })
  }
  if (status === 413) {
    return new Fault('payload_too_large', message ?? 'The request is too large for this model.', { cause })
  }
  if (status === 408 || status === 504)
    return new Fault('timeout_error', 'The model did not answer in time.', { cause })
  if (status === 402 || status === 429 || status === 503) {
    return new Fault('all_channels_failed', 'No provider can take this request at the moment.', { cause })
  }
  return new Fault('upstream_error', 'The model provider answered with an error.', { cause })
}

/** Services disagree about the capital. Some hosts repeat the key that they were sent, which is ours. */
function messageOf(body: unknown): string | undefined {
  const message = isObject(body) ? (body.message ?? body.Message) : undefined
  return typeof message === 'string' && message !== '' ? blankCredentials(message) : undefined
}

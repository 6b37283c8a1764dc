import { Fault } from '#core/fault.ts'
import type { OutboundFailure } from '#http/outbound/failure.ts'

/** An attempt that brought the client nothing. */
export interface Failure {
  readonly fault: Fault
  /**
   * `safe`: the upstream has done no work. `uncertain`: it may have, and may bill for it. `final`: another channel
   * would say the same, because the request itself is at fault.
   */
  readonly kind: 'safe' | 'uncertain' | 'final'
  /** Of the upstream's answer, where there was one. */
  readonly status?: number
}

/** The upstream could not be reached or broke off before an answer began. */
export function failureOfConnection({ kind, wasSent, cause }: OutboundFailure): Failure {
  if (kind === 'forbidden') return { kind: 'safe', fault: forbidden(cause) }
  const fault = TIMEOUTS.has(kind)
    ? new Fault('timeout_error', 'The model did not answer in time.', { cause })
    : new Fault('upstream_error', 'The model provider could not be reached or broke off.', { cause })
  return { kind: wasSent ? 'uncertain' : 'safe', fault }
}

/** Only customers' addresses are judged, so whoever reads this can change it. */
function forbidden(cause: Error): Fault {
  return new Fault('access_denied', 'The base_url of this provider key leads where this gateway may not go.', {
    hint: 'It has to be https and lead to public addresses.',
    cause,
  })
}

const TIMEOUTS: ReadonlySet<OutboundFailure['kind']> = new Set([
  'connect-timeout',
  'first-byte-timeout',
  'idle-timeout',
])

/** Statuses with which a provider says that it has not begun: too busy, or our account may not. */
const REFUSED_UNDONE = new Set([401, 402, 403, 404, 429, 503, 529])

/** The upstream answered with an error status. @param fault what the format makes of it */
export function failureOfStatus(status: number, fault: Fault): Failure {
  if (fault.status < 500) return { kind: 'final', fault, status }
  return { kind: REFUSED_UNDONE.has(status) ? 'safe' : 'uncertain', fault, status }
}

const RETRY_AFTER_SECONDS_MAX = 300

/** `Retry-After` in whole seconds, from seconds or an HTTP date; `undefined` when absent or nonsense. */
function retryAfterSeconds(header: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - nowMs) / 1000)
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, RETRY_AFTER_SECONDS_MAX) : undefined
}

/** A failure that says when to come back, where the provider said so. */
export function withRetryAfter(failure: Failure, header: string | string[] | undefined): Failure {
  const seconds = retryAfterSeconds(header, Date.now())
  if (seconds === undefined || !failure.fault.retryable) return failure
  const { code, message, param, hints, cause } = failure.fault
  return { ...failure, fault: new Fault(code, message, { ...hints, param, cause, retryAfterSeconds: seconds }) }
}

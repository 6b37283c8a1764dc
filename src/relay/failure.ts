import { Fault } from '#core/fault.ts'
import type { UpstreamMeaning } from '#core/upstream-meaning.ts'
import type { OutboundFailure } from '#http/outbound/failure.ts'
import type { Symptom } from '#routing/symptom.ts'

/** An attempt that brought the client nothing. */
export interface Failure {
  readonly fault: Fault
  /**
   * `safe`: the upstream has done no work. `uncertain`: it may have, and may bill for it. `final`: another channel
   * would say the same, because the request itself is at fault.
   */
  readonly kind: 'safe' | 'uncertain' | 'final'
  /** What it says of the upstream; `undefined`: nothing. */
  readonly symptom: Symptom | undefined
  /** Of the upstream's answer, where there was one. */
  readonly status?: number
}

/** The upstream could not be reached or broke off before an answer began. */
export function failureOfConnection({ kind, wasSent, cause }: OutboundFailure): Failure {
  if (kind === 'forbidden') return { kind: 'safe', symptom: undefined, fault: forbidden(cause) }
  const isTimeout = TIMEOUTS.has(kind)
  const fault = isTimeout
    ? new Fault('timeout_error', 'The model did not answer in time.', { cause, upstream: 'slow' })
    : new Fault('upstream_error', 'The model provider could not be reached or broke off.', {
        cause,
        upstream: 'failed',
      })
  return { kind: wasSent ? 'uncertain' : 'safe', symptom: isTimeout ? 'slow' : 'down', fault }
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

/**
 * The upstream said that it failed, or what it said is no answer.
 *
 * @param fault what the format makes of it
 */
export function failureOfAnswer(fault: Fault): Failure {
  if (fault.upstream) return { ...MEANINGS[fault.upstream], fault }
  // What no format recognized as an error is none of an upstream, but for the answers that are nonsense.
  return { kind: 'uncertain', symptom: fault.code === 'upstream_error' ? 'down' : undefined, fault }
}

/** The gateway itself gives up. */
export function failureOfOurs(fault: Fault): Failure {
  return { kind: 'final', symptom: undefined, fault }
}

/** Providers answer thus before they begin, and bill nothing for it; or else nobody can know. */
const MEANINGS: Readonly<Record<UpstreamMeaning, Pick<Failure, 'kind' | 'symptom'>>> = Object.freeze({
  invalid: { kind: 'final', symptom: undefined },
  'too-long': { kind: 'final', symptom: undefined },
  'too-large': { kind: 'final', symptom: undefined },
  refused: { kind: 'safe', symptom: 'refused' },
  unpaid: { kind: 'safe', symptom: 'refused' },
  forbidden: { kind: 'safe', symptom: 'forbidden' },
  limited: { kind: 'safe', symptom: 'limited' },
  'unknown-model': { kind: 'safe', symptom: 'down' },
  busy: { kind: 'safe', symptom: 'busy' },
  slow: { kind: 'uncertain', symptom: 'slow' },
  failed: { kind: 'uncertain', symptom: 'down' },
})

const RETRY_AFTER_SECONDS_MAX = 300

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** `Retry-After` in whole seconds, from seconds or an HTTP date; `undefined` when absent or nonsense. */
function retryAfterSeconds(header: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - nowMs) / 1000)
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, RETRY_AFTER_SECONDS_MAX) : undefined
}

/** A failure that says when to come back, where the provider said so. */
export function withRetryAfter(failure: Failure, { 'retry-after': header }: Headers): Failure {
  const seconds = retryAfterSeconds(header, Date.now())
  if (seconds === undefined || !failure.fault.retryable) return failure
  return { ...failure, fault: failure.fault.with({ retryAfterSeconds: seconds }) }
}

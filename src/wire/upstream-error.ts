import { Fault, type FaultCode } from '#core/fault.ts'
import type { UpstreamMeaning } from '#core/upstream-meaning.ts'
import { passableText } from './passable-text.ts'

/** What a format reads of an upstream's error, in no format's words. */
export interface UpstreamError {
  /** The status that it has, or would have had on its own. */
  readonly status: number
  /** The format's word for it. */
  readonly code?: unknown
  readonly type?: unknown
  readonly message?: unknown
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** A row of a format's table: all that it names must fit. */
export interface ErrorRule {
  readonly statuses?: readonly number[]
  readonly codes?: readonly string[]
  readonly types?: readonly string[]
  readonly message?: RegExp
  readonly means: UpstreamMeaning
}

/** What a status means where no format has anything more exact to say. */
const BY_STATUS: ReadonlyMap<number, UpstreamMeaning> = new Map([
  [400, 'invalid'],
  [401, 'refused'],
  [402, 'unpaid'],
  [403, 'forbidden'],
  [404, 'unknown-model'],
  [408, 'slow'],
  [413, 'too-large'],
  [422, 'invalid'],
  [429, 'limited'],
  [503, 'busy'],
  [504, 'slow'],
  // Anthropic's word for overloaded.
  [529, 'busy'],
])

/** How a meaning is told. The upstream speaks of *our* account: only where it speaks of the request it is quoted. */
const TELLING: Readonly<Record<UpstreamMeaning, { code: FaultCode; message: string; isQuoted?: true }>> = Object.freeze(
  {
    invalid: { code: 'invalid_request', message: 'The model refused the request as invalid.', isQuoted: true },
    'too-long': { code: 'context_length_exceeded', message: 'The input is too long for this model.', isQuoted: true },
    'too-large': { code: 'payload_too_large', message: 'The request is too large for this model.', isQuoted: true },
    refused: { code: 'upstream_error', message: 'The model provider answered with an error.' },
    unpaid: { code: 'all_channels_failed', message: 'No provider can take this request at the moment.' },
    forbidden: { code: 'upstream_error', message: 'The model provider answered with an error.' },
    limited: { code: 'all_channels_failed', message: 'No provider can take this request at the moment.' },
    'unknown-model': { code: 'upstream_error', message: 'The model provider answered with an error.' },
    busy: { code: 'all_channels_failed', message: 'No provider can take this request at the moment.' },
    slow: { code: 'timeout_error', message: 'The model did not answer in time.' },
    failed: { code: 'upstream_error', message: 'The model provider answered with an error.' },
  },
)

/** What an upstream's error means to our client. @param rules the format's table; the first row that fits counts */
export function interpret(rules: readonly ErrorRule[], error: UpstreamError, cause: unknown): Fault {
  const upstream = rules.find(rule => fits(rule, error))?.means ?? BY_STATUS.get(error.status) ?? 'failed'
  const { code, message, isQuoted } = TELLING[upstream]
  const quoted =
    isQuoted && typeof error.message === 'string' && error.message !== '' ? passableText(error.message) : ''
  return new Fault(code, quoted || message, {
    param: isQuoted ? error.param : undefined,
    retryAfterSeconds: error.retryAfterSeconds,
    upstream,
    cause,
  })
}

function fits({ statuses, codes, types, message }: ErrorRule, error: UpstreamError): boolean {
  return (
    (!statuses || statuses.includes(error.status)) &&
    (!codes || codes.includes(String(error.code))) &&
    (!types || types.includes(String(error.type))) &&
    (!message || (typeof error.message === 'string' && message.test(error.message)))
  )
}

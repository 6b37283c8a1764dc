/**
 * The one error that Tollgate shows to callers. Whoever refuses something throws a `Fault` with a code of the closed
 * table below; everything else that is thrown becomes `internal_error` at the single funnel {@link Fault.from}, and
 * its true cause goes to the log, never to the caller. Each wire family spells a fault in its own words
 * (`wire/<format>/fault.ts`); the gateway's own spelling is {@link errorBody}.
 */

/** HTTP status, and `type` and `code` as the spec's table "Types and codes" has them; `code: null` means none. */
interface FaultKind {
  readonly status: number
  readonly type: string
  readonly code: string | null
  /** Whether the same request may succeed later without a change. */
  readonly retryable?: true
}

export const FAULT_KINDS = {
  invalid_api_key: { status: 401, type: 'invalid_api_key', code: 'invalid_api_key' },
  expired_api_key: { status: 401, type: 'expired_api_key', code: 'expired_api_key' },
  insufficient_balance: { status: 402, type: 'insufficient_balance', code: 'insufficient_balance' },
  quota_exceeded: { status: 402, type: 'quota_exceeded', code: 'quota_exceeded' },
  access_denied: { status: 403, type: 'access_denied', code: 'access_denied' },
  model_not_allowed: { status: 403, type: 'access_denied', code: 'model_not_allowed' },
  invalid_request: { status: 400, type: 'invalid_request_error', code: null },
  unsupported_parameter: { status: 400, type: 'invalid_request_error', code: 'unsupported_parameter' },
  context_length_exceeded: { status: 400, type: 'context_length_exceeded', code: 'context_length_exceeded' },
  model_not_found: { status: 400, type: 'invalid_request_error', code: 'model_not_found' },
  previous_response_not_found: {
    status: 400,
    type: 'invalid_request_error',
    code: 'previous_response_not_found',
  },
  currency_retired: { status: 400, type: 'invalid_request_error', code: 'currency_retired' },
  not_found: { status: 404, type: 'invalid_request_error', code: 'not_found' },
  method_not_allowed: { status: 405, type: 'invalid_request_error', code: 'method_not_allowed' },
  request_timeout: { status: 408, type: 'invalid_request_error', code: 'request_timeout' },
  payload_too_large: { status: 413, type: 'invalid_request_error', code: 'payload_too_large' },
  headers_too_large: { status: 431, type: 'invalid_request_error', code: 'headers_too_large' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_exceeded', code: 'rate_limit_exceeded', retryable: true },
  internal_error: { status: 500, type: 'server_error', code: 'internal_error' },
  upstream_error: { status: 502, type: 'upstream_error', code: 'upstream_error', retryable: true },
  all_channels_failed: { status: 503, type: 'all_channels_failed', code: 'all_channels_failed', retryable: true },
  service_unavailable: { status: 503, type: 'server_error', code: 'service_unavailable', retryable: true },
  timeout_error: { status: 504, type: 'timeout_error', code: 'timeout_error', retryable: true },
} as const satisfies Record<string, FaultKind>

export type FaultCode = keyof typeof FAULT_KINDS

/** The optional hint fields of the spec's error object. */
export interface FaultHints {
  readonly didYouMean?: string | undefined
  readonly suggestions?: readonly string[] | undefined
  readonly hint?: string | undefined
  readonly retryable?: boolean | undefined
  /** Whole seconds; also sent as `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined
  /** What is left to spend, and what the request may cost at most; exact decimals. */
  readonly balanceUsd?: string | undefined
  readonly estimatedCostUsd?: string | undefined
  readonly alternatives?: readonly { id: string; status: string; tags: readonly string[] }[] | undefined
  /** Every field at fault, where one request may have several; sent beside the error. */
  readonly validationErrors?: readonly ValidationError[] | undefined
}

/** An element of the spec's top-level `validation_errors`. */
export interface ValidationError {
  readonly field: string
  readonly message: string
}

export interface FaultOptions extends FaultHints {
  /** The request field at fault, as a path: `messages[0].role`. */
  readonly param?: string | undefined
  /** What really happened; logged, never sent. */
  readonly cause?: unknown
}

export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly param: string | undefined
  readonly hints: FaultHints

  /** @param message a sentence for the caller: what is wrong and what to do; never upstream text or an address */
  constructor(code: FaultCode, message: string, { param, cause, ...hints }: FaultOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.param = param
    this.hints = hints
  }

  get status(): number {
    return FAULT_KINDS[this.code].status
  }

  get retryable(): boolean {
    const kind: FaultKind = FAULT_KINDS[this.code]
    return this.hints.retryable ?? kind.retryable ?? false
  }

  /** The only way from an unknown throw to something that a caller may see. */
  static from(error: unknown): Fault {
    if (error instanceof Fault) return error
    return new Fault('internal_error', 'The gateway failed to serve this request.', { cause: error })
  }
}

/** The error object of the spec, section Errors: absent fields are left out. */
export interface ErrorBody {
  readonly error: Readonly<Record<string, unknown>> & { readonly message: string; readonly type: string }
  readonly validation_errors?: readonly ValidationError[]
}

/** A fault in the gateway's own family, as every `/v1` route without one of its own sends it. */
export function errorBody(fault: Fault): ErrorBody {
  const kind: FaultKind = FAULT_KINDS[fault.code]
  const { didYouMean, suggestions, hint, retryAfterSeconds, balanceUsd, estimatedCostUsd, alternatives } = fault.hints
  const { validationErrors } = fault.hints
  return {
    error: {
      message: fault.message,
      type: kind.type,
      ...(kind.code !== null && { code: kind.code }),
      ...(fault.param !== undefined && { param: fault.param }),
      ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
      ...(suggestions !== undefined && { suggestions: suggestions.map(id => ({ id })) }),
      ...(hint !== undefined && { hint }),
      ...(fault.retryable && { retryable: true }),
      ...(retryAfterSeconds !== undefined && { retry_after: retryAfterSeconds }),
      ...(balanceUsd !== undefined && { balance_usd: Number(balanceUsd) }),
      ...(estimatedCostUsd !== undefined && { estimated_cost_usd: Number(estimatedCostUsd) }),
      ...(alternatives !== undefined && { alternatives }),
    },
    ...(validationErrors !== undefined && { validation_errors: validationErrors }),
  }
}

/** Headers that belong to a fault in every family: when to come back, and whether an SDK should try by itself. */
export function faultHeaders(fault: Fault): Record<string, string> {
  const { retryAfterSeconds } = fault.hints
  return {
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    // SDKs repeat every 408, 409, 429 and 5xx on their own, and nothing else, unless told otherwise.
    ...(!fault.retryable && fault.status >= 500 && { 'x-should-retry': 'false' }),
    ...(fault.retryable && fault.status === 402 && { 'x-should-retry': 'true' }),
  }
}

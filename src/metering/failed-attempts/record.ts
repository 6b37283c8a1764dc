/**
 * What the journal keeps of an upstream call that no usage row tells of, and what becomes its row in `failed_attempts`,
 * column for column. The client pays nothing for it, but the provider may bill it: this is what its invoice is compared
 * with.
 */
export interface FailedAttemptRecord {
  /** ISO 8601 in UTC with milliseconds; part of the row's key, so it is fixed here and never again. */
  readonly failed_at: string
  readonly request_id: string
  /** 0 for the first channel that was asked. */
  readonly attempt: number
  readonly organization_id: string
  readonly workspace_id: string
  readonly api_key_id: string
  readonly model: string
  readonly channel_id: string
  readonly upstream_model: string
  readonly kind: FailureKind
  /** A fault's code, or `client_gone`. */
  readonly reason: string
  /** `undefined`: no answer began. */
  readonly status: number | undefined
  readonly upstream_request_id: string | undefined
  /** US dollars as an exact decimal: what the provider may bill at most, at the price of the offer. */
  readonly possible_cost: string
}

/**
 * `safe`: the upstream has done no work. `uncertain`: it may have, and may bill for it. `final`: it refused the request
 * itself.
 */
export type FailureKind = 'safe' | 'uncertain' | 'final'

/** In the journal a record stands under this name; usage, which is most of it, stands bare. */
const PREFIX = '{"failed_attempt":'
const PREFIX_BYTES = Buffer.from(PREFIX)

export function encodeFailedAttempt(record: FailedAttemptRecord): string {
  return `${PREFIX}${JSON.stringify(record)}}`
}

export function isFailedAttempt(payload: Buffer): boolean {
  return payload.subarray(0, PREFIX_BYTES.length).equals(PREFIX_BYTES)
}

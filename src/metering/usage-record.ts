import type { AccessChannel, Scene } from '#core/scene.ts'

/**
 * What the journal keeps of one request, and what becomes its row in `usage_events`, column for column: the journal's
 * bytes go to Postgres as they are, so the names are the table's.
 */
export interface UsageRecord {
  readonly request_id: string
  /** ISO 8601 in UTC with milliseconds; half of the row's key, so it is fixed here and never again. */
  readonly created_at: string
  readonly organization_id: string
  readonly workspace_id: string
  readonly api_key_id: string
  readonly model: string
  readonly logical_model: string
  readonly model_vendor: string
  readonly scene: Scene
  readonly access_channel: AccessChannel
  readonly channel_id: string
  readonly delivery_tier: string
  readonly usage_unit: string
  /** An exact decimal. */
  readonly usage_quantity: string
  readonly prompt_tokens: number | undefined
  readonly completion_tokens: number | undefined
  readonly total_tokens: number | undefined
  readonly cache_read_tokens: number | undefined
  readonly cache_write_tokens: number | undefined
  readonly cache_write_tokens_5m: number | undefined
  readonly cache_write_tokens_1h: number | undefined
  readonly audio_input_tokens: number | undefined
  readonly audio_output_tokens: number | undefined
  readonly reasoning_tokens: number | undefined
  /** US dollars as an exact decimal. */
  readonly cost: string
  readonly price_version: string
  /** The provider reported no usage: the counts are ours. */
  readonly is_estimated: boolean
  readonly outcome: Outcome
}

/**
 * `cut`: the upstream broke off after the answer had begun. `client_gone`: the client did. `stopped`: the gateway ended
 * the answer, because nothing was left to pay for more of it.
 */
export type Outcome = 'completed' | 'cut' | 'client_gone' | 'stopped'

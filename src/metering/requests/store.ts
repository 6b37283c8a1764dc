import { sql } from 'kysely'
import { timeOfId } from '#lib/ids.ts'
import type { Database } from '#storage/database.ts'

/** Who may know of a request: its key, or its key's workspace. */
export type RequestOwner = { readonly kind: 'key' | 'workspace'; readonly id: string }

/** A request that was recorded. Decimals are texts; counts that nobody reported are `null`. */
export interface RecordedRequest {
  readonly createdAt: Date
  readonly billingTransactionId: string
  readonly model: string
  readonly logicalModel: string
  readonly modelVendor: string
  readonly scene: string
  readonly accessChannel: string
  readonly channelId: string
  readonly deliveryTier: string
  readonly outcome: string
  readonly attempt: number | null
  readonly durationMs: number | null
  readonly firstOutputMs: number | null
  readonly usageUnit: string
  readonly usageQuantity: string
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  readonly totalTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly reasoningTokens: number | null
  readonly isEstimated: boolean
  readonly cost: string
  readonly priceVersion: string
  /** `null`: of before versions were kept. */
  readonly priceDefinition: Readonly<Record<string, unknown>> | null
}

export interface RecordedFailure {
  readonly failedAt: Date
  readonly attempt: number
  readonly model: string
  /** `null`: of before it was kept. */
  readonly accessChannel: string | null
  readonly channelId: string
  readonly kind: string
  readonly reason: string
  readonly status: number | null
  readonly durationMs: number | null
}

const OWNERS = { key: sql.raw('api_key_id'), workspace: sql.raw('workspace_id') } as const

const SECOND_MS = 1_000
/** Clocks are set back by seconds at times. */
const EARLIER_MS = 60 * SECOND_MS
/** Most requests are over within a minute; none takes a day. Rows are searched in this order, by when they were made. */
const LATER_MS = [60 * SECOND_MS, 3_600 * SECOND_MS, 86_400 * SECOND_MS]

/** A request's usage by its id, which tells when it came, so that no index over all of history is needed. */
export async function findRequest(
  database: Database,
  requestId: string,
  owner: RequestOwner,
): Promise<RecordedRequest | undefined> {
  const cameAtMs = timeOfId(requestId)
  let fromMs = cameAtMs - EARLIER_MS
  for (const laterMs of LATER_MS) {
    const toMs = cameAtMs + laterMs
    const { rows } = await sql<RecordedRequest>`
      select
        created_at as "createdAt", billing_transaction_id as "billingTransactionId", model,
        logical_model as "logicalModel", model_vendor as "modelVendor", scene, access_channel as "accessChannel",
        channel_id as "channelId", delivery_tier as "deliveryTier", outcome, attempt, duration_ms as "durationMs",
        first_output_ms as "firstOutputMs", usage_unit as "usageUnit", usage_quantity::text as "usageQuantity",
        prompt_tokens as "promptTokens", completion_tokens as "completionTokens", total_tokens as "totalTokens",
        cache_read_tokens as "cacheReadTokens", cache_write_tokens as "cacheWriteTokens",
        reasoning_tokens as "reasoningTokens", is_estimated as "isEstimated", cost::text as cost,
        price_version as "priceVersion", definition as "priceDefinition"
      from usage_events left join price_versions on version = price_version
      where created_at >= ${new Date(fromMs)} and created_at < ${new Date(toMs)}
        and request_id = ${requestId} and ${OWNERS[owner.kind]} = ${owner.id}
    `.execute(database)
    if (rows[0]) return rows[0]
    fromMs = toMs
  }
  return undefined
}

/** The attempts of a request that brought its client nothing, in their order. */
export async function findFailures(
  database: Database,
  requestId: string,
  owner: RequestOwner,
): Promise<RecordedFailure[]> {
  const cameAtMs = timeOfId(requestId)
  const { rows } = await sql<RecordedFailure>`
    select failed_at as "failedAt", attempt, model, access_channel as "accessChannel", channel_id as "channelId", kind,
           reason, status, duration_ms as "durationMs"
    from failed_attempts
    where failed_at >= ${new Date(cameAtMs - EARLIER_MS)} and failed_at < ${new Date(cameAtMs + (LATER_MS.at(-1) ?? 0))}
      and request_id = ${requestId} and ${OWNERS[owner.kind]} = ${owner.id}
    order by attempt
  `.execute(database)
  return rows
}

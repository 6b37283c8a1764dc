import { canonicalDecimal } from '#core/money.ts'
import { isId } from '#lib/ids.ts'
import type { Database } from '#storage/database.ts'
import { findFailures, findRequest, type RecordedFailure, type RecordedRequest, type RequestOwner } from './store.ts'

export interface ExplainOptions {
  /** Whether callers may know which of the operator's channels served them. */
  readonly showsChannels: boolean
}

/**
 * How a request went, as its owner may know it: what was tried, how long it took and what it cost. What a platform
 * channel is called and what it answered stays with the operator; a customer's own provider key is named.
 *
 * @returns `undefined` when the owner has no such request that got as far as a provider
 */
export async function explainRequest(
  database: Database,
  { requestId, owner }: { requestId: string; owner: RequestOwner },
  options: ExplainOptions,
): Promise<Record<string, unknown> | undefined> {
  if (!isId('req', requestId)) return undefined
  const request = await findRequest(database, requestId, owner)
  const failures = await findFailures(database, requestId, owner)
  if (!request && failures.length === 0) return undefined
  const failed = failures.map(failure => toFailedAttempt(failure, options))
  return request
    ? {
        id: requestId,
        object: 'request',
        ...toRecorded(request),
        attempts: [...failed, toLastAttempt(request, failures.length, options)],
      }
    : {
        id: requestId,
        object: 'request',
        model: failures.at(-1)?.model,
        outcome: 'failed',
        attempts: failed,
        cost: 0,
        cost_decimal: '0',
      }
}

function toRecorded(request: RecordedRequest): Record<string, unknown> {
  const cost = canonicalDecimal(request.cost)
  return {
    created_at: request.createdAt.toISOString(),
    billing_transaction_id: request.billingTransactionId,
    model: request.model,
    logical_model: request.logicalModel,
    model_vendor: request.modelVendor || null,
    scene: request.scene,
    access_channel: request.accessChannel,
    delivery_tier: request.deliveryTier,
    outcome: request.outcome,
    timings: { first_output_ms: request.firstOutputMs, duration_ms: request.durationMs },
    usage: {
      usage_unit: request.usageUnit,
      usage_quantity_decimal: canonicalDecimal(request.usageQuantity),
      prompt_tokens: request.promptTokens,
      completion_tokens: request.completionTokens,
      total_tokens: request.totalTokens,
      cache_read_tokens: request.cacheReadTokens,
      cache_write_tokens: request.cacheWriteTokens,
      reasoning_tokens: request.reasoningTokens,
      is_estimated: request.isEstimated,
    },
    price: { version: request.priceVersion, ...request.priceDefinition },
    cost: Number(cost),
    cost_decimal: cost,
  }
}

function toFailedAttempt(failure: RecordedFailure, options: ExplainOptions): Record<string, unknown> {
  return {
    attempt: failure.attempt,
    outcome: 'failed',
    ...channelOf(failure, options),
    failed_at: failure.failedAt.toISOString(),
    duration_ms: failure.durationMs,
    error: { code: failure.reason, status: failure.status },
    may_be_billed: failure.kind === 'uncertain',
  }
}

/** @param failures how many there were before it, where its own number was not kept */
function toLastAttempt(request: RecordedRequest, failures: number, options: ExplainOptions): Record<string, unknown> {
  return { attempt: request.attempt ?? failures, outcome: request.outcome, ...channelOf(request, options) }
}

function channelOf(
  { accessChannel, channelId }: Pick<RecordedFailure, 'accessChannel' | 'channelId'>,
  { showsChannels }: ExplainOptions,
): Record<string, unknown> {
  const isOwn = accessChannel === 'byok'
  return { access_channel: accessChannel, ...((isOwn || showsChannels) && { channel: channelId }) }
}

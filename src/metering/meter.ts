import type { Model, Offer } from '#catalog/catalog.ts'
import { Fault } from '#core/fault.ts'
import { formatDecimal, formatUsd } from '#core/money.ts'
import type { AccessChannel, Scene } from '#core/scene.ts'
import { QUANTITY_PLACES, type Usage } from '#core/usage.ts'
import type { Hold } from '#quota/hold.ts'
import { type Charge, computeCharge, totalTokens } from './charge.ts'
import { encodeFailedAttempt, type FailedAttemptRecord, type FailureKind } from './failed-attempts/record.ts'
import type { Journal } from './journal/journal.ts'
import type { Shipper } from './shipper.ts'
import type { Outcome, UsageRecord } from './usage-record.ts'

/** When an answer counts as recorded: on this node's disk, or committed in Postgres. */
export type Durability = 'journal' | 'database'

export interface MeterDeps {
  readonly journal: Journal
  readonly shipper: Shipper
  readonly durability: Durability
}

/** What the relay knows of a request that is over. */
export interface Consumption {
  readonly requestId: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly model: Model
  readonly offer: Offer
  /** What was done, which may be less than what the model can do. */
  readonly scene: Scene
  readonly accessChannel: AccessChannel
  readonly usage: Usage
  readonly isEstimated: boolean
  readonly outcome: Outcome
}

/** What the relay knows of an upstream call that brought its client nothing. */
export interface FailedAttempt
  extends Pick<Consumption, 'requestId' | 'organizationId' | 'workspaceId' | 'keyId' | 'model' | 'offer'> {
  /** 0 for the first channel that was asked. */
  readonly attempt: number
  readonly kind: FailureKind
  readonly reason: string
  readonly status: number | undefined
  readonly upstreamRequestId: string | undefined
  /** What the provider may have done at most; `undefined` where it has surely done nothing. */
  readonly possibleUsage: Usage | undefined
}

/** Turns consumption into a charge and makes it durable. */
export class Meter {
  readonly #deps: MeterDeps

  constructor(deps: MeterDeps) {
    this.#deps = deps
  }

  /** @throws Fault `service_unavailable` while usage could not be recorded */
  assertAccepting(): void {
    this.#deps.journal.assertAccepting()
  }

  /**
   * Records a request. Once this resolves, its usage cannot be lost; before, the client must not have the last byte.
   *
   * @param hold what was set aside for it; settled with the charge, and left to the caller when nothing is charged
   * @returns what it costs. @throws Fault `internal_error` when the record could not be made durable
   */
  async record(consumption: Consumption, hold: Hold | undefined): Promise<Charge> {
    const { model, offer, usage, outcome } = consumption
    const full = computeCharge(usage, offer.price)
    // An answer that the provider cut off is not what was ordered: it is recorded, and not charged.
    const charge: Charge = outcome === 'cut' ? { ...full, cost: 0n } : full
    try {
      await this.#deps.journal.append(JSON.stringify(toRecord(consumption, charge, model)))
    } catch (cause) {
      throw new Fault('internal_error', 'The answer could not be recorded and is withheld. It is not charged.', {
        cause,
      })
    }
    // Before the record can have been posted, so that a lease never has back what it was not yet charged.
    hold?.settle(charge.cost)
    if (this.#deps.durability === 'database') await this.#deps.shipper.shipped()
    return charge
  }

  /**
   * Records an upstream call that is not charged to anyone. Where that fails, the journal has told its operator and
   * refuses new work; the call has failed anyway.
   */
  async recordFailure(failed: FailedAttempt): Promise<void> {
    await this.#deps.journal.append(encodeFailedAttempt(toFailedAttemptRecord(failed))).catch(() => {})
  }
}

function toFailedAttemptRecord({ offer, possibleUsage, ...failed }: FailedAttempt): FailedAttemptRecord {
  return {
    failed_at: new Date().toISOString(),
    request_id: failed.requestId,
    attempt: failed.attempt,
    organization_id: failed.organizationId,
    workspace_id: failed.workspaceId,
    api_key_id: failed.keyId,
    model: failed.model.id,
    channel_id: offer.channel.id,
    upstream_model: offer.upstreamModel,
    kind: failed.kind,
    reason: failed.reason,
    status: failed.status,
    upstream_request_id: failed.upstreamRequestId?.slice(0, UPSTREAM_ID_LENGTH_MAX),
    possible_cost: formatUsd(possibleUsage ? computeCharge(possibleUsage, offer.price).cost : 0n),
  }
}

/** An id that is longer is none. */
const UPSTREAM_ID_LENGTH_MAX = 200

function toRecord(consumption: Consumption, charge: Charge, model: Model): UsageRecord {
  const { usage, offer } = consumption
  const written = (usage.cacheWrite5mTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0)
  return {
    request_id: consumption.requestId,
    created_at: new Date().toISOString(),
    organization_id: consumption.organizationId,
    workspace_id: consumption.workspaceId,
    api_key_id: consumption.keyId,
    model: model.id,
    logical_model: model.logicalModel,
    model_vendor: model.vendor ?? '',
    scene: consumption.scene,
    access_channel: consumption.accessChannel,
    channel_id: offer.channel.id,
    delivery_tier: offer.channel.tier,
    usage_unit: charge.unit,
    usage_quantity: formatDecimal(charge.quantity, QUANTITY_PLACES),
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: totalTokens(usage),
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens ?? (written > 0 ? written : undefined),
    cache_write_tokens_5m: usage.cacheWrite5mTokens,
    cache_write_tokens_1h: usage.cacheWrite1hTokens,
    audio_input_tokens: usage.audioInputTokens,
    audio_output_tokens: usage.audioOutputTokens,
    reasoning_tokens: usage.reasoningTokens,
    cost: formatUsd(charge.cost),
    price_version: charge.priceVersion,
    is_estimated: consumption.isEstimated,
    outcome: consumption.outcome,
  }
}

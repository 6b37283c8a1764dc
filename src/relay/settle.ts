import type { Model } from '#catalog/catalog.ts'
import { formatUsd } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Observed } from '#core/work.ts'
import { type Charge, pricedUnits } from '#metering/charge.ts'
import type { Consumption, Meter } from '#metering/meter.ts'
import type { Outcome } from '#metering/usage-record.ts'
import { textTokens } from '#wire/token-estimate.ts'
import type { AttemptInput } from './call.ts'

/**
 * Records what a call used. The provider's report counts; what is missing of it, the input is estimated from the
 * request and the output from what came, and the record is flagged.
 */
export async function settle(
  { meter, input, model }: { meter: Meter; input: AttemptInput; model: Model },
  { observed, outcome }: { observed: Observed; outcome: Outcome },
): Promise<Charge> {
  const { call, hold, offer } = input
  const { usage, isEstimated } = completed(input, model, observed)
  const consumption: Consumption = {
    requestId: call.requestId,
    organizationId: call.principal.organizationId,
    workspaceId: call.principal.workspaceId,
    keyId: call.principal.keyId,
    model,
    offer,
    scene: call.work.scene,
    accessChannel: 'platform',
    usage,
    isEstimated,
    outcome,
  }
  const charge = await meter.record(consumption, hold)
  Object.assign(call.facts, {
    outcome,
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    cached_tokens: usage.cacheReadTokens,
    cost_usd: formatUsd(charge.cost),
    ...(isEstimated && { is_estimated: true }),
    ...(observed.upstreamId && { upstream_id: observed.upstreamId }),
  })
  return charge
}

/** A stream that is cut may have told what went in, and not what came out. */
function completed(
  { call, offer }: AttemptInput,
  model: Model,
  { usage = {}, outputBytes }: Observed,
): { usage: Usage; isEstimated: boolean } {
  const { inputTokens, outputTokens, units } = usage
  // An upstream that counts only one side, as some do for embeddings, has counted all that there is to count.
  const hasTokens = inputTokens !== undefined && (outputTokens !== undefined || outputBytes === 0)
  const hasUnits = pricedUnits(offer.price).every(unit => units?.[unit] !== undefined)
  if (hasTokens && hasUnits) return { usage, isEstimated: false }
  const estimate = call.work.estimate(model.limits)
  return {
    usage: {
      ...usage,
      inputTokens: inputTokens ?? estimate.inputTokens,
      outputTokens: outputTokens ?? textTokens(outputBytes),
      units: { ...estimate.units, ...units },
    },
    isEstimated: true,
  }
}

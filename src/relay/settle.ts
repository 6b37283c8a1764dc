import type { Model } from '#catalog/catalog.ts'
import { formatUsd } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Observed } from '#core/work.ts'
import type { Charge } from '#metering/charge.ts'
import type { Meter } from '#metering/meter.ts'
import type { Outcome } from '#metering/usage-record.ts'
import { textTokens } from '#wire/token-estimate.ts'
import type { AttemptInput } from './call.ts'

/**
 * Records what a call used. The provider's report counts; where it made none, the input is estimated from the request
 * and the output from what came, and both are flagged.
 */
export async function settle(
  { meter, input, model }: { meter: Meter; input: AttemptInput; model: Model },
  { observed, outcome }: { observed: Observed; outcome: Outcome },
): Promise<Charge> {
  const { call, offer } = input
  const usage = observed.usage ?? estimated(input, model, observed)
  const charge = await meter.record({
    requestId: call.requestId,
    organizationId: call.principal.organizationId,
    workspaceId: call.principal.workspaceId,
    keyId: call.principal.keyId,
    model,
    offer,
    accessChannel: 'platform',
    usage,
    isEstimated: observed.usage === undefined,
    outcome,
  })
  Object.assign(call.facts, {
    outcome,
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    cached_tokens: usage.cacheReadTokens,
    cost_usd: formatUsd(charge.cost),
    ...(observed.usage === undefined && { is_estimated: true }),
  })
  return charge
}

function estimated({ call }: AttemptInput, model: Model, observed: Observed): Usage {
  const { inputTokens } = call.work.estimate(model.limits)
  return { inputTokens, outputTokens: textTokens(observed.outputBytes) }
}

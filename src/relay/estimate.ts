import type { Model, Offer } from '#catalog/catalog.ts'
import { isFree } from '#catalog/price.ts'
import { largerOf, type Picodollars } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Work } from '#core/work.ts'
import { chargeAtMost, outputAtMost } from '#metering/upper-bound.ts'

/** What a request may come to at most, as far as that can be known before. */
export interface Estimate {
  readonly usage: Usage
  readonly cost: Picodollars
}

/**
 * What to set aside for a request: its input and all the output that it allows, at the price of whichever offer may
 * settle it and at whichever of its tiers, the dearest of them. `undefined` for what costs nothing.
 */
export function estimateCost(work: Work, model: Model, plan: readonly Offer[]): Estimate | undefined {
  if (work.isFree || plan.every(({ price }) => isFree(price))) return undefined
  const usage = work.bound(model.limits)
  return { usage, cost: plan.map(({ price }) => chargeAtMost(usage, price)).reduce(largerOf) }
}

/** What more output costs at most, in a request that is under way. */
export function estimateOutput(outputTokens: number, estimate: Estimate, { price }: Offer): Picodollars {
  return outputAtMost(outputTokens, estimate.usage, price)
}

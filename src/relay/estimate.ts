import type { Model, Offer } from '#catalog/catalog.ts'
import { isFreePrice } from '#catalog/fee.ts'
import { largerOf, type Picodollars } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Work } from '#core/work.ts'
import { computeCharge } from '#metering/charge.ts'

/** What a request may come to at most, as far as that can be known before. */
export interface Estimate {
  readonly usage: Usage
  readonly cost: Picodollars
}

/**
 * What to set aside for a request: its input and all the output that it allows, at the price of whichever offer may
 * settle it, the dearest of them. `undefined` for what costs nothing.
 */
export function estimateCost(work: Work, model: Model, plan: readonly Offer[]): Estimate | undefined {
  if (work.isFree || plan.every(({ price }) => isFreePrice(price))) return undefined
  const usage = work.estimate(model.limits)
  const cost = plan.map(({ price }) => computeCharge(usage, price).cost).reduce(largerOf)
  return { usage, cost }
}

/** What more output costs, in a request that is under way. */
export function estimateOutput(outputTokens: number, { price }: Offer): Picodollars {
  return computeCharge({ outputTokens }, price).cost - computeCharge({}, price).cost
}

import type { Model, Offer } from '#catalog/catalog.ts'
import { isFree } from '#catalog/price.ts'
import { largerOf, type Picodollars } from '#core/money.ts'
import type { Work } from '#core/work.ts'
import { chargeAtMost, outputAtMost, type UsageBounds } from '#metering/upper-bound.ts'

/** What a request may come to at most, as far as that can be known before. */
export interface Estimate extends UsageBounds {
  readonly cost: Picodollars
}

/** Dense text has twice the tokens that its bytes let expect, so a tier may begin at half its length by our count. */
const INPUT_GUESS_ERROR = 2

/**
 * What to set aside for a request: its input and all the output that it allows, at the price of whichever offer may
 * settle it and at whichever of its tiers, the dearest of them. `undefined` for what costs nothing.
 */
export function estimateCost(work: Work, model: Model, plan: readonly Offer[]): Estimate | undefined {
  if (work.isFree || plan.every(({ price }) => isFree(price))) return undefined
  const usage = work.estimate(model.limits)
  const longest = model.limits.contextLength ?? Number.POSITIVE_INFINITY
  const tierTokens = Math.min((usage.inputTokens ?? 0) * INPUT_GUESS_ERROR, longest)
  const bounds = { usage, tierTokens }
  const cost = plan.map(({ price }) => chargeAtMost(bounds, price)).reduce(largerOf)
  return { ...bounds, cost }
}

/** What more output costs at most, in a request that is under way. */
export function estimateOutput(outputTokens: number, estimate: Estimate, { price }: Offer): Picodollars {
  return outputAtMost(outputTokens, estimate, price)
}

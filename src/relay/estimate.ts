import type { Model, Offer } from '#catalog/catalog.ts'
import type { Price } from '#catalog/price.ts'
import { largerOf, type Picodollars } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Work } from '#core/work.ts'
import { computeCharge } from '#metering/charge.ts'
import type { Candidate } from '#routing/candidate.ts'

/** What a request may come to at most, as far as that can be known before. */
export interface Estimate {
  readonly usage: Usage
  readonly cost: Picodollars
}

/**
 * What to set aside for a request: its input and all the output that it allows, at the price of whichever offer may
 * settle it, the dearest of them. `undefined` for what costs nothing.
 */
export function estimateCost(work: Work, model: Model, candidates: readonly Candidate[]): Estimate | undefined {
  const prices = [...new Set(candidates.map(({ offer }) => offer.price))]
  if (work.isFree || prices.every(isFree)) return undefined
  const usage = work.estimate(model.limits)
  const cost = prices.map(price => computeCharge(usage, price).cost).reduce(largerOf)
  return { usage, cost }
}

/** What more output costs, in a request that is under way. */
export function estimateOutput(outputTokens: number, { price }: Offer): Picodollars {
  return computeCharge({ outputTokens }, price).cost - computeCharge({}, price).cost
}

function isFree(price: Price): boolean {
  return Object.values(price.rates).every(rate => rate === 0n)
}

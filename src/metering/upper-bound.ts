import { type Price, type PriceTier, TOKEN_RATES, type TokenRate, type TokenRates } from '#catalog/price.ts'
import { largerOf, type Picodollars } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import { costOfUnits, PER_PICODOLLAR, PER_QUANTITY, rateFor } from './charge.ts'

/**
 * The most that `computeCharge` makes of any usage within the bounds, at whichever tier.
 *
 * @param bounds no count of the usage will be more than here. A kind of tokens that is `undefined` may be any of its
 *   side's where the price has a rate for it, and is none where it has not: that is what nobody asked for
 */
export function chargeAtMost(bounds: Usage, price: Price): Picodollars {
  const { inputTokens = 0, outputTokens = 0 } = bounds
  // A kind that costs more may take the place of any other, so the dearest are taken first, tier by tier.
  const tokens = reachableRates(price, bounds)
    .map(rates => dearest('input', inputTokens, bounds, rates) + dearest('output', outputTokens, bounds, rates))
    .reduce(largerOf)
  return picodollarsUp((tokens + (price.rates.request ?? 0n)) * PER_QUANTITY + costOfUnits(bounds, price))
}

/** The most that so much more output costs in a request within the bounds. */
export function outputAtMost(outputTokens: number, bounds: Usage, price: Price): Picodollars {
  const rates = reachableRates(price, bounds)
  return picodollarsUp(rates.map(each => dearest('output', outputTokens, bounds, each)).reduce(largerOf) * PER_QUANTITY)
}

function reachableRates({ rates, tiers }: Price, { inputTokens = 0 }: Usage): TokenRates[] {
  const isReachable = ({ above }: PriceTier) => inputTokens > above
  return [rates, ...tiers.filter(isReachable).map(tier => tier.rates)]
}

type Side = 'input' | 'output'

/** Which side each kind is of, and how many of it a usage can have at most; plain tokens are without limit. */
const KINDS: Readonly<Record<TokenRate, readonly [Side, (usage: Usage) => number | undefined]>> = {
  input: ['input', () => Number.POSITIVE_INFINITY],
  cache_read: ['input', usage => usage.cacheReadTokens],
  cache_write_5m: ['input', usage => usage.cacheWriteTokens ?? usage.cacheWrite5mTokens],
  cache_write_1h: ['input', usage => usage.cacheWrite1hTokens ?? usage.cacheWriteTokens],
  audio_input: ['input', usage => usage.audioInputTokens],
  output: ['output', () => Number.POSITIVE_INFINITY],
  reasoning: ['output', usage => usage.reasoningTokens],
  audio_output: ['output', usage => usage.audioOutputTokens],
}

/** What so many tokens of a side cost when they are of the dearest kinds that they can be. */
function dearest(side: Side, total: number, usage: Usage, rates: TokenRates): bigint {
  const kinds = TOKEN_RATES.filter(name => KINDS[name][0] === side)
    .map(name => ({ rate: rateFor(name, rates), most: mostOf(name, usage, rates) }))
    .toSorted((a, b) => (a.rate === b.rate ? 0 : a.rate < b.rate ? 1 : -1))
  let left = total
  let cost = 0n
  for (const { rate, most } of kinds) {
    const taken = Math.min(left, most)
    left -= taken
    cost += BigInt(taken) * rate
  }
  return cost
}

function mostOf(name: TokenRate, usage: Usage, rates: TokenRates): number {
  return KINDS[name][1](usage) ?? (rates[name] === undefined ? 0 : Number.POSITIVE_INFINITY)
}

/** Rounded up: a bound may not be below what it bounds. */
function picodollarsUp(amount: bigint): Picodollars {
  return (amount + PER_PICODOLLAR - 1n) / PER_PICODOLLAR
}

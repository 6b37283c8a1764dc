import type { Scene } from '#core/scene.ts'
import { TOKEN_RATES, type TokenRate, UNIT_RATES } from './price.ts'
import type { ModelConfig, PriceConfig, PriceTierConfig } from './schema.ts'

/** What a price leaves open or says that means nothing, a sentence each. */
export function brokenRules(model: ModelConfig, price: PriceConfig): string[] {
  return [...missingRates(model, price), ...misplacedUnits(model, price), ...brokenTiers(model, price)]
}

/** What a price by the token must at least say for a kind of work; the others have both sides. */
const NEEDED_RATES: Partial<Record<Scene, readonly TokenRate[]>> = { embedding: ['input'], rerank: ['input'] }
const BOTH_SIDES: readonly TokenRate[] = ['input', 'output']

function missingRates({ id, scene }: ModelConfig, price: PriceConfig): string[] {
  const isByToken = TOKEN_RATES.some(name => price[name] !== undefined)
  const isByUnit = UNIT_RATES.some(name => price[name] !== undefined)
  const needed = isByToken || !isByUnit ? (NEEDED_RATES[scene] ?? BOTH_SIDES) : []
  const missing = needed.filter(name => price[name] === undefined)
  if (missing.length === 0) return []
  return [`the price of model "${id}" lacks ${missing.join(' and ')}; write "0" for what is free`]
}

/** Kinds of work of which nothing but tokens and requests is counted. */
const TOKENS_ONLY: ReadonlySet<Scene> = new Set(['chat', 'embedding', 'rerank', 'translation'])

function misplacedUnits({ id, scene }: ModelConfig, price: PriceConfig): string[] {
  if (!TOKENS_ONLY.has(scene)) return []
  const uncounted = UNIT_RATES.filter(name => name !== 'request' && price[name] !== undefined)
  if (uncounted.length === 0) return []
  return [`a ${scene} model such as "${id}" cannot be charged by the ${uncounted.join(' or ')}: nothing counts that`]
}

/** A tier that left a rate out would charge it as for short requests, which is how long ones come to be too cheap. */
function brokenTiers({ id }: ModelConfig, price: PriceConfig): string[] {
  const tiers = price.tiers ?? []
  return tiers.flatMap((tier, i) => {
    const before = tiers[i - 1]
    const isAscending = before === undefined || tier.above > before.above
    return [
      ...(isAscending ? [] : [`the tiers of model "${id}" must go from shorter to longer requests`]),
      ...differences(price, tier).map(difference => `the tier above ${tier.above} of model "${id}" ${difference}`),
    ]
  })
}

function differences(price: PriceConfig, tier: PriceTierConfig): string[] {
  const lacks = TOKEN_RATES.filter(name => price[name] !== undefined && tier[name] === undefined)
  const adds = TOKEN_RATES.filter(name => price[name] === undefined && tier[name] !== undefined)
  return [
    ...(lacks.length > 0 ? [`lacks ${lacks.join(' and ')}; what costs the same there is written again`] : []),
    ...(adds.length > 0 ? [`has ${adds.join(' and ')}, which the price before the tiers lacks`] : []),
  ]
}

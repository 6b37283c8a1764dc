import { type Price, RATE_PLACES, ratesFor, type TokenRate, type TokenRates } from '#catalog/price.ts'
import { divideHalfEven, type Picodollars } from '#core/money.ts'
import { QUANTITY_PLACES, type Quantity, UNITS, type Unit, type Usage, wholeQuantity } from '#core/usage.ts'

/** What a request costs, and the quantity that it is billed by. */
export interface Charge {
  readonly cost: Picodollars
  readonly unit: UsageUnit
  readonly quantity: Quantity
  readonly priceVersion: string
}

/** By what a request is charged, as its usage row says it. */
export type UsageUnit = 'per_token' | 'per_request' | `per_${Unit}`

/** Costs are reckoned in 10⁻³² USD: rates are of 10⁻²⁰, and quantities of units of 10⁻¹². */
export const PER_QUANTITY = 10n ** BigInt(QUANTITY_PLACES)
export const PER_PICODOLLAR = 10n ** BigInt(RATE_PLACES + QUANTITY_PLACES - 12)

/**
 * Usage times price, rounded once. Tokens are split into disjoint parts first, so that a cached or an audio token is
 * never charged twice; the input's length, all of it, says which tier the whole request is charged at.
 *
 * @throws Error when the price is for something that nobody counted: what is unknown is not free
 */
export function computeCharge(usage: Usage, price: Price): Charge {
  const rates = ratesFor(price, usage.inputTokens ?? 0)
  let forTokens = price.rates.request ?? 0n
  for (const [name, tokens] of Object.entries(tokenParts(usage)) as [TokenRate, number][]) {
    if (tokens > 0) forTokens += BigInt(tokens) * rateFor(name, rates)
  }
  const cost = divideHalfEven(forTokens * PER_QUANTITY + costOfUnits(usage, price), PER_PICODOLLAR)
  return { cost, ...billedBy(usage, price), priceVersion: price.version }
}

/** Units that a price is for, the one that leads a bill first. */
export function pricedUnits({ rates }: Price): readonly Unit[] {
  return UNITS.filter(unit => rates[unit] !== undefined)
}

/** In 10⁻³² USD. @throws Error when nobody counted what the price is for */
export function costOfUnits(usage: Usage, price: Price): bigint {
  return pricedUnits(price).reduce((sum, unit) => sum + quantityOf(unit, usage) * (price.rates[unit] ?? 0n), 0n)
}

function quantityOf(unit: Unit, { units }: Usage): Quantity {
  const quantity = units?.[unit]
  if (quantity === undefined) throw new Error(`the price is by the ${unit}, and nobody counted any`)
  return quantity
}

/** A row has one unit: tokens where they cost anything, otherwise what else the price is for, the request last. */
function billedBy(usage: Usage, price: Price): Pick<Charge, 'unit' | 'quantity'> {
  if (price.rates.input !== undefined || price.rates.output !== undefined) {
    return { unit: 'per_token', quantity: wholeQuantity(totalTokens(usage)) }
  }
  const [unit] = pricedUnits(price)
  return unit === undefined
    ? { unit: 'per_request', quantity: wholeQuantity(1) }
    : { unit: `per_${unit}`, quantity: quantityOf(unit, usage) }
}

/** Tokens as reports count them: all that went in and all that came out. */
export function totalTokens(usage: Usage): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

type TokenParts = Readonly<Record<TokenRate, number>>

/** Disjoint token counts. Providers' details can contradict their totals; a part never takes more than is left. */
function tokenParts(usage: Usage): TokenParts {
  const input = new Remainder(usage.inputTokens ?? 0)
  const cacheRead = input.take(usage.cacheReadTokens)
  const cacheWrite1h = input.take(usage.cacheWrite1hTokens)
  const cacheWrite5m = input.take(usage.cacheWrite5mTokens)
  // Writes whose lifetime nobody named count as the short one, which every provider with a cache has.
  const named = (usage.cacheWrite5mTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0)
  const unnamed = input.take(Math.max(0, (usage.cacheWriteTokens ?? 0) - named))
  const audioInput = input.take(usage.audioInputTokens)
  const output = new Remainder(usage.outputTokens ?? 0)
  const audioOutput = output.take(usage.audioOutputTokens)
  const reasoning = output.take(usage.reasoningTokens)
  return {
    input: input.left,
    cache_read: cacheRead,
    cache_write_5m: cacheWrite5m + unnamed,
    cache_write_1h: cacheWrite1h,
    audio_input: audioInput,
    output: output.left,
    reasoning,
    audio_output: audioOutput,
  }
}

class Remainder {
  left: number

  constructor(total: number) {
    this.left = total
  }

  take(wanted: number | undefined): number {
    const taken = Math.min(wanted ?? 0, this.left)
    this.left -= taken
    return taken
  }
}

/**
 * What a part without a rate of its own costs: so many hundredths of what plain tokens of its side do.
 *
 * A discount or a surcharge that nobody stated is not guessed, with one exception. Tokens are reported as written to a
 * cache by providers that charge for the writing, and at the input's price each of them would be a loss: Anthropic,
 * Amazon, Google and OpenAI ask 1.25 times the input for a write, and Anthropic 2 times for one that lasts an hour.
 */
const FALLBACK: Readonly<Record<TokenRate, readonly [plain: 'input' | 'output', hundredths: bigint]>> = {
  input: ['input', 100n],
  cache_read: ['input', 100n],
  cache_write_5m: ['input', 125n],
  cache_write_1h: ['input', 200n],
  audio_input: ['input', 100n],
  output: ['output', 100n],
  reasoning: ['output', 100n],
  audio_output: ['output', 100n],
}

/** What a token of a kind costs, at a tier's rates. */
export function rateFor(name: TokenRate, rates: TokenRates): bigint {
  const [plain, hundredths] = FALLBACK[name]
  // Exact: rates have two places more than a price may state.
  return rates[name] ?? ((rates[plain] ?? 0n) * hundredths) / 100n
}

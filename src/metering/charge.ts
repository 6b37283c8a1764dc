import { WHOLE_SHARE } from '#catalog/fee.ts'
import type { Price, RateName } from '#catalog/price.ts'
import { divideHalfEven, type Picodollars } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'

/** What a request costs, and the quantity that it is billed by. */
export interface Charge {
  readonly cost: Picodollars
  readonly unit: 'per_token' | 'per_request'
  readonly quantity: number
  readonly priceVersion: string
}

const ATTO_PER_PICO = 1_000_000n

const WHOLE_PRICE: NonNullable<Price['fee']> = Object.freeze({ share: WHOLE_SHARE, perRequest: 0n })

/**
 * Usage times price, rounded once. Tokens are split into disjoint parts first, so that a cached or an audio token is
 * never charged twice; a part without a rate of its own costs what plain tokens of its side cost.
 */
export function computeCharge(usage: Usage, price: Price): Charge {
  const parts = billableParts(usage)
  let atto = price.rates.request ?? 0n
  for (const [name, tokens] of Object.entries(parts) as [keyof BillableParts, number][]) {
    if (tokens > 0) atto += BigInt(tokens) * rateFor(name, price)
  }
  const { share, perRequest } = price.fee ?? WHOLE_PRICE
  const cost = divideHalfEven(atto * share + perRequest * WHOLE_SHARE, ATTO_PER_PICO * WHOLE_SHARE)
  const isPerToken = price.rates.input !== undefined || price.rates.output !== undefined
  return isPerToken
    ? { cost, unit: 'per_token', quantity: totalTokens(usage), priceVersion: price.version }
    : { cost, unit: 'per_request', quantity: 1, priceVersion: price.version }
}

/** Tokens as reports count them: all that went in and all that came out. */
export function totalTokens(usage: Usage): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

type BillableParts = Readonly<Record<Exclude<RateName, 'request'>, number>>

/** Disjoint token counts. Providers' details can contradict their totals; a part never takes more than is left. */
function billableParts(usage: Usage): BillableParts {
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
  return {
    input: input.left,
    cache_read: cacheRead,
    cache_write_5m: cacheWrite5m + unnamed,
    cache_write_1h: cacheWrite1h,
    audio_input: audioInput,
    output: output.left,
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

const FALLBACK: Readonly<Record<Exclude<RateName, 'request'>, 'input' | 'output'>> = {
  input: 'input',
  cache_read: 'input',
  cache_write_5m: 'input',
  cache_write_1h: 'input',
  audio_input: 'input',
  output: 'output',
  audio_output: 'output',
}

function rateFor(name: keyof BillableParts, { rates }: Price): bigint {
  return rates[name] ?? rates[FALLBACK[name]] ?? 0n
}

import type { TokenRate } from '#catalog/price.ts'
import type { PriceConfig } from '#catalog/schema.ts'
import { UNITS, type Usage } from '#core/usage.ts'

/** What usage costs, reckoned from the definition in fractions, and by none of the gateway's means. */

/** A number as a fraction of two integers. */
interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

function plus(a: Fraction, b: Fraction): Fraction {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  }
}

function times(a: Fraction, b: Fraction): Fraction {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator }
}

function whole(value: bigint): Fraction {
  return { numerator: value, denominator: 1n }
}

const ZERO = whole(0n)

/** Dollars for one token, request or unit, straight from the configuration's text. */
function fractionOf(text: string, per: 1 | '1K' | '1M'): Fraction {
  const [integer = '', fraction = ''] = text.split('.')
  const scale = BigInt({ '1': 1, '1K': 1_000, '1M': 1_000_000 }[per])
  return { numerator: BigInt(integer + fraction), denominator: 10n ** BigInt(fraction.length) * scale }
}

/** The multiple of 10⁻¹² that is nearest to a positive fraction; half goes to the even one. */
function nearestPicodollars({ numerator, denominator }: Fraction): bigint {
  const scaled = numerator * 10n ** 12n
  const below = scaled / denominator
  const [toBelow, toAbove] = [scaled - below * denominator, (below + 1n) * denominator - scaled]
  if (toBelow === toAbove) return below % 2n === 0n ? below : below + 1n
  return toBelow < toAbove ? below : below + 1n
}

/**
 * Which kind each token is, by laying the kinds out one after another: a token beyond the side's total does not exist,
 * and what no kind reaches is plain.
 */
function layOut(total: number, wanted: readonly (readonly [TokenRate, number])[], plain: TokenRate) {
  const counts = new Map<TokenRate, number>()
  let start = 0
  for (const [name, count] of [...wanted, [plain, Number.POSITIVE_INFINITY] as const]) {
    const end = start + count
    const there = Math.min(end, total) - Math.min(start, total)
    counts.set(name, (counts.get(name) ?? 0) + there)
    start = end
  }
  return counts
}

/** What a kind without a rate of its own costs, as a share of its side's plain tokens (docs/configuration.md). */
const SHARES: Partial<Record<TokenRate, Fraction>> = {
  cache_write_5m: { numerator: 5n, denominator: 4n },
  cache_write_1h: whole(2n),
}

export function expectedCost(usage: Usage, price: PriceConfig): bigint {
  const { per = '1M' } = price
  const { inputTokens = 0, outputTokens = 0 } = usage
  const named = (usage.cacheWrite5mTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0)
  const input = layOut(
    inputTokens,
    [
      ['cache_read', usage.cacheReadTokens ?? 0],
      ['cache_write_1h', usage.cacheWrite1hTokens ?? 0],
      ['cache_write_5m', usage.cacheWrite5mTokens ?? 0],
      ['cache_write_5m', Math.max((usage.cacheWriteTokens ?? 0) - named, 0)],
      ['audio_input', usage.audioInputTokens ?? 0],
    ],
    'input',
  )
  const output = layOut(
    outputTokens,
    [
      ['audio_output', usage.audioOutputTokens ?? 0],
      ['reasoning', usage.reasoningTokens ?? 0],
    ],
    'output',
  )
  const tier = (price.tiers ?? []).filter(({ above }) => inputTokens > above).at(-1) ?? price
  const rate = (name: TokenRate, plain: 'input' | 'output') => {
    const own = tier[name]
    if (own !== undefined) return fractionOf(own, per)
    const fallback = tier[plain]
    return fallback === undefined ? ZERO : times(fractionOf(fallback, per), SHARES[name] ?? whole(1n))
  }
  const sides = [
    [input, 'input'],
    [output, 'output'],
  ] as const
  const tokens = sides.flatMap(([side, plain]) =>
    [...side].map(([name, count]) => times(whole(BigInt(count)), rate(name, plain))),
  )
  const units = UNITS.flatMap(unit => {
    const text = price[unit]
    if (text === undefined) return []
    return [times({ numerator: usage.units?.[unit] ?? 0n, denominator: 10n ** 12n }, fractionOf(text, 1))]
  })
  const request = price.request === undefined ? ZERO : fractionOf(price.request, 1)
  return nearestPicodollars([...tokens, ...units].reduce(plus, request))
}

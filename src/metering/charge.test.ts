import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parsePrice, RATE_NAMES, type RateName } from '#catalog/price.ts'
import type { PriceConfig } from '#catalog/schema.ts'
import { formatUsd } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import { computeCharge, totalTokens } from './charge.ts'

function costOf(usage: Usage, price: PriceConfig): string {
  return formatUsd(computeCharge(usage, parsePrice(price)).cost)
}

describe('computeCharge', () => {
  it('charges input and output by the token', () => {
    assert.equal(costOf({ inputTokens: 1_000_000, outputTokens: 500_000 }, { input: '0.25', output: '2' }), '1.25')
    assert.equal(costOf({ inputTokens: 1, outputTokens: 0 }, { input: '0.25', output: '2' }), '0.00000025')
  })

  it('charges cached and audio tokens at rates of their own, out of the total that includes them', () => {
    const price: PriceConfig = {
      input: '1',
      output: '10',
      cache_read: '0.1',
      cache_write_5m: '1.25',
      cache_write_1h: '2',
      audio_input: '40',
      audio_output: '80',
      per: 1,
    }
    const usage: Usage = {
      inputTokens: 100,
      cacheReadTokens: 50,
      cacheWrite5mTokens: 8,
      cacheWrite1hTokens: 4,
      audioInputTokens: 10,
      outputTokens: 20,
      audioOutputTokens: 5,
      reasoningTokens: 12,
    }
    // 28 × 1 + 50 × 0.1 + 8 × 1.25 + 4 × 2 + 10 × 40 + 15 × 10 + 5 × 80
    assert.equal(costOf(usage, price), '1001')
  })

  it('charges a part without a rate of its own as plain tokens of its side', () => {
    const usage: Usage = {
      inputTokens: 10,
      cacheReadTokens: 4,
      audioInputTokens: 2,
      outputTokens: 3,
      audioOutputTokens: 3,
    }
    assert.equal(costOf(usage, { input: '1', output: '5', per: 1 }), '25')
  })

  it('takes cache writes whose lifetime nobody named for short ones', () => {
    const price: PriceConfig = { input: '0', output: '0', cache_write_5m: '1', cache_write_1h: '100', per: 1 }
    assert.equal(costOf({ inputTokens: 50, cacheWriteTokens: 20 }, price), '20')
    assert.equal(costOf({ inputTokens: 50, cacheWriteTokens: 20, cacheWrite1hTokens: 5 }, price), '515')
    assert.equal(costOf({ inputTokens: 50, cacheWrite5mTokens: 3, cacheWrite1hTokens: 2 }, price), '203')
  })

  it('charges a request for itself, whatever it used', () => {
    assert.equal(costOf({}, { request: '0.01' }), '0.01')
    assert.equal(
      costOf({ inputTokens: 2, outputTokens: 1 }, { request: '0.01', input: '1', output: '1', per: '1K' }),
      '0.013',
    )
  })

  it('rounds once, at the end, to the twelfth digit, and half to even', () => {
    const half: PriceConfig = { input: '0.0000005', output: '0.000001' }
    assert.deepEqual(
      [1, 2, 3, 5].map(inputTokens => costOf({ inputTokens, outputTokens: 0 }, half)),
      ['0', '0.000000000001', '0.000000000002', '0.000000000002'],
    )
    assert.equal(
      costOf({ inputTokens: 1, cacheReadTokens: 0, outputTokens: 1 }, { input: '0.0000004', output: '0.0000004' }),
      '0.000000000001',
    )
  })

  it('says by which quantity it was reckoned, and at which price', () => {
    const perToken = parsePrice({ input: '1', output: '1' })
    assert.deepEqual(computeCharge({ inputTokens: 3, outputTokens: 4 }, perToken), {
      cost: 7_000_000n,
      unit: 'per_token',
      quantity: 7,
      priceVersion: perToken.version,
    })
    const { unit, quantity } = computeCharge({ inputTokens: 3, outputTokens: 4 }, parsePrice({ request: '1' }))
    assert.deepEqual([unit, quantity], ['per_request', 1])
  })
})

describe('totalTokens', () => {
  it("is the provider's own total, or the sum of both sides", () => {
    assert.equal(totalTokens({ inputTokens: 1, outputTokens: 2, totalTokens: 9 }), 9)
    assert.equal(totalTokens({ inputTokens: 1, outputTokens: 2 }), 3)
    assert.equal(totalTokens({}), 0)
  })
})

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

const ZERO: Fraction = { numerator: 0n, denominator: 1n }

/** Dollars for one token or request, straight from the configuration's text. */
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
function layOut(total: number, wanted: readonly (readonly [RateName, number])[], plain: RateName) {
  const counts = new Map<RateName, number>()
  let start = 0
  for (const [name, count] of [...wanted, [plain, Number.POSITIVE_INFINITY] as const]) {
    const end = start + count
    const there = Math.min(end, total) - Math.min(start, total)
    counts.set(name, (counts.get(name) ?? 0) + there)
    start = end
  }
  return counts
}

/** The exact cost, reckoned from the definition and by none of the code's means. */
function expectedCost(usage: Usage, price: PriceConfig): bigint {
  const { per = '1M' } = price
  const named = (usage.cacheWrite5mTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0)
  const unnamed = Math.max((usage.cacheWriteTokens ?? 0) - named, 0)
  const input = layOut(
    usage.inputTokens ?? 0,
    [
      ['cache_read', usage.cacheReadTokens ?? 0],
      ['cache_write_1h', usage.cacheWrite1hTokens ?? 0],
      ['cache_write_5m', usage.cacheWrite5mTokens ?? 0],
      ['cache_write_5m', unnamed],
      ['audio_input', usage.audioInputTokens ?? 0],
    ],
    'input',
  )
  const output = layOut(usage.outputTokens ?? 0, [['audio_output', usage.audioOutputTokens ?? 0]], 'output')
  const rate = (name: RateName, plain: RateName) => {
    const text = price[name] ?? price[plain]
    return text === undefined ? ZERO : fractionOf(text, per)
  }
  const parts = (side: ReadonlyMap<RateName, number>, plain: RateName) =>
    [...side].map(([name, count]) => [name, count, plain] as const)
  const tokens = [...parts(input, 'input'), ...parts(output, 'output')]
    .map(([name, count, plain]) => times({ numerator: BigInt(count), denominator: 1n }, rate(name, plain)))
    .reduce(plus, ZERO)
  return nearestPicodollars(plus(tokens, price.request === undefined ? ZERO : fractionOf(price.request, 1)))
}

const count = fc.oneof(fc.nat({ max: 200 }), fc.nat({ max: 10_000_000 }), fc.constantFrom(0, 1, 2 ** 40))

/** As providers report it, contradictions between a total and its parts included. */
const anyUsage: fc.Arbitrary<Usage> = fc.record(
  {
    inputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    cacheWrite5mTokens: count,
    cacheWrite1hTokens: count,
    audioInputTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    audioOutputTokens: count,
  },
  { requiredKeys: [] },
)

const decimal = fc
  .tuple(fc.nat({ max: 200 }), fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 }))
  .map(([integer, fraction]) => (fraction === '' ? String(integer) : `${integer}.${fraction}`))

const anyPrice: fc.Arbitrary<PriceConfig> = fc.record(
  {
    ...(Object.fromEntries(RATE_NAMES.map(name => [name, decimal])) as Record<RateName, typeof decimal>),
    per: fc.constantFrom('1M' as const, '1K' as const, 1 as const),
  },
  { requiredKeys: [] },
)

describe('computeCharge, of any usage at any price', () => {
  it('is exact to the last digit', () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, (usage, price) => {
        assert.equal(computeCharge(usage, parsePrice(price)).cost, expectedCost(usage, price))
      }),
      { numRuns: 2000 },
    )
  })

  it('charges every token once and none twice, whatever the parts claim', () => {
    const uniform = parsePrice({ ...Object.fromEntries(RATE_NAMES.map(name => [name, '1'])), request: '0', per: 1 })
    fc.assert(
      fc.property(anyUsage, usage => {
        const tokens = BigInt(usage.inputTokens ?? 0) + BigInt(usage.outputTokens ?? 0)
        assert.equal(computeCharge(usage, uniform).cost, tokens * 10n ** 12n)
      }),
      { numRuns: 500 },
    )
  })

  it('never gives money back', () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, (usage, price) => {
        assert.ok(computeCharge(usage, parsePrice(price)).cost >= 0n)
      }),
    )
  })
})

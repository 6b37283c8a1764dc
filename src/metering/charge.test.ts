import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parsePrice, TOKEN_RATES } from '#catalog/price.ts'
import type { PriceConfig } from '#catalog/schema.ts'
import { formatUsd } from '#core/money.ts'
import { type Usage, unitQuantity, wholeQuantity } from '#core/usage.ts'
import { anyPrice, anyUsage } from '../../test/support/arbitrary-charge.ts'
import { expectedCost } from '../../test/support/charge-oracle.ts'
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

  it('charges what was written to a cache more than plain input, also where the price does not speak of it', () => {
    const price: PriceConfig = { input: '4', output: '0', per: 1 }
    assert.equal(costOf({ inputTokens: 100, cacheWriteTokens: 10 }, price), '410')
    assert.equal(costOf({ inputTokens: 100, cacheWriteTokens: 10, cacheWrite1hTokens: 10 }, price), '440')
    const tiny: PriceConfig = { input: '0.000000000000000003', output: '0', per: 1 }
    assert.equal(costOf({ inputTokens: 1_000_000, cacheWriteTokens: 1_000_000 }, tiny), '0.000000000004')
  })

  it('charges thoughts at a rate of their own where there is one', () => {
    const usage: Usage = { inputTokens: 0, outputTokens: 10, reasoningTokens: 4 }
    assert.equal(costOf(usage, { input: '0', output: '5', reasoning: '2', per: 1 }), '38')
    assert.equal(costOf(usage, { input: '0', output: '5', per: 1 }), '50')
  })

  it('charges the whole request at the tier of its input, cached input included', () => {
    const price: PriceConfig = {
      input: '1',
      output: '10',
      cache_read: '0.5',
      tiers: [
        { above: 100, input: '2', output: '15', cache_read: '1' },
        { above: 200, input: '3', output: '20', cache_read: '1.5' },
      ],
      per: 1,
    }
    const costs = [100, 101, 200, 201].map(inputTokens =>
      costOf({ inputTokens, cacheReadTokens: 40, outputTokens: 2 }, price),
    )
    assert.deepEqual(costs, ['100', '192', '390', '583'])
  })

  it('charges units by their exact quantity', () => {
    const units = { second: unitQuantity(3.27) ?? 0n, image: wholeQuantity(2) }
    assert.equal(costOf({ units }, { second: '0.0001' }), '0.000327')
    assert.equal(costOf({ units }, { second: '0.0001', image: '0.04', request: '0.001' }), '0.081327')
    assert.equal(
      costOf({ inputTokens: 3, outputTokens: 1, units }, { image: '1', input: '1', output: '1', per: 1 }),
      '6',
    )
    assert.equal(costOf({ units: { megapixel: unitQuantity(1.048576) ?? 0n } }, { megapixel: '0.003' }), '0.003145728')
  })

  it('refuses to take for nothing what nobody counted', () => {
    assert.throws(() => costOf({}, { second: '0.0001' }), /by the second, and nobody counted any/)
    assert.equal(costOf({ units: { second: 0n } }, { second: '0.0001' }), '0')
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
      quantity: wholeQuantity(7),
      priceVersion: perToken.version,
    })
    const { unit, quantity } = computeCharge({ inputTokens: 3, outputTokens: 4 }, parsePrice({ request: '1' }))
    assert.deepEqual([unit, quantity], ['per_request', wholeQuantity(1)])
    const units = { second: 3_270_000_000_000n, image: wholeQuantity(2) }
    const billed = (price: PriceConfig) => {
      const { unit, quantity } = computeCharge({ inputTokens: 3, units }, parsePrice(price))
      return [unit, quantity]
    }
    assert.deepEqual(billed({ request: '1', image: '1' }), ['per_image', wholeQuantity(2)])
    assert.deepEqual(billed({ second: '1', image: '1' }), ['per_second', units.second])
    assert.deepEqual(billed({ second: '1', input: '1', output: '1' }), ['per_token', wholeQuantity(3)])
  })
})

describe('totalTokens', () => {
  it("is the provider's own total, or the sum of both sides", () => {
    assert.equal(totalTokens({ inputTokens: 1, outputTokens: 2, totalTokens: 9 }), 9)
    assert.equal(totalTokens({ inputTokens: 1, outputTokens: 2 }), 3)
    assert.equal(totalTokens({}), 0)
  })
})

describe('computeCharge, of any usage at any price', () => {
  it('is exact to the last digit', () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, (usage, price) => {
        assert.equal(computeCharge(usage, parsePrice(price)).cost, expectedCost(usage, price))
      }),
      { numRuns: 100_000 },
    )
  })

  it('charges every token once and none twice, whatever the parts claim', () => {
    const uniform = parsePrice({ ...Object.fromEntries(TOKEN_RATES.map(name => [name, '1'])), per: 1 })
    fc.assert(
      fc.property(anyUsage, usage => {
        const tokens = BigInt(usage.inputTokens ?? 0) + BigInt(usage.outputTokens ?? 0)
        assert.equal(computeCharge(usage, uniform).cost, tokens * 10n ** 12n)
      }),
      { numRuns: 2000 },
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

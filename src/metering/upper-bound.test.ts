import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parsePrice } from '#catalog/price.ts'
import type { PriceConfig } from '#catalog/schema.ts'
import { formatUsd } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import { anyPrice, anyUsage } from '../../test/support/arbitrary-charge.ts'
import { computeCharge } from './charge.ts'
import { chargeAtMost, outputAtMost } from './upper-bound.ts'

function mostOf(bounds: Usage, price: PriceConfig): string {
  return formatUsd(chargeAtMost(bounds, parsePrice(price)))
}

const TIERED: PriceConfig = { input: '1', output: '10', tiers: [{ above: 100, input: '2', output: '15' }], per: 1 }

describe('chargeAtMost', () => {
  it('is plain input and output where the price knows nothing else', () => {
    assert.equal(mostOf({ inputTokens: 100, outputTokens: 10 }, { input: '1', output: '10', per: 1 }), '200')
  })

  it('reckons with every tier that the input may reach', () => {
    assert.deepEqual(
      [80, 100, 101].map(inputTokens => mostOf({ inputTokens, outputTokens: 10 }, TIERED)),
      ['180', '200', '352'],
    )
    const falling: PriceConfig = { ...TIERED, tiers: [{ above: 100, input: '0.5', output: '5' }] }
    assert.equal(mostOf({ inputTokens: 101, outputTokens: 10 }, falling), '201')
  })

  it('reckons with the dearest kind of tokens that a request may have, and with none that it cannot have', () => {
    const price: PriceConfig = {
      input: '1',
      cache_read: '0.1',
      audio_input: '30',
      output: '2',
      audio_output: '60',
      per: 1,
    }
    assert.equal(mostOf({ inputTokens: 10, outputTokens: 5 }, price), '600')
    assert.equal(mostOf({ inputTokens: 10, outputTokens: 5, audioInputTokens: 0, audioOutputTokens: 0 }, price), '20')
    assert.equal(mostOf({ inputTokens: 10, outputTokens: 5, audioInputTokens: 2, audioOutputTokens: 0 }, price), '78')
  })

  it('reckons with writing to a cache where the price or the request speaks of it', () => {
    const usage = { inputTokens: 100, outputTokens: 0 }
    const price: PriceConfig = { input: '1', output: '1', cache_write_5m: '1.25', cache_write_1h: '2', per: 1 }
    assert.equal(mostOf(usage, price), '200')
    assert.equal(mostOf({ ...usage, cacheWrite1hTokens: 0 }, price), '125')
    assert.equal(
      mostOf({ ...usage, cacheWriteTokens: 100, cacheWrite1hTokens: 0 }, { input: '1', output: '1', per: 1 }),
      '125',
    )
  })

  it('is never less than any charge within its bounds, at whatever price', () => {
    const share = fc.tuple(...Array.from({ length: 12 }, () => fc.integer({ min: 0, max: 100 })))
    fc.assert(
      fc.property(anyUsage, anyPrice, share, fc.boolean(), (bounds, price, shares, isNamed) => {
        const parsed = parsePrice(price)
        // Kinds that the bounds leave open may be anything where the price has a rate for them.
        const usage = within(isNamed ? bounds : openFor(bounds, price), shares)
        const most = chargeAtMost(isNamed ? bounds : sidesOf(bounds), parsed)
        const { cost } = computeCharge(usage, parsed)
        assert.ok(cost <= most, `${cost} > ${most}`)
      }),
      { numRuns: 20_000 },
    )
  })
})

describe('outputAtMost', () => {
  it('covers what more output adds to any charge within the bounds', () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, fc.nat({ max: 5_000 }), (bounds, price, more) => {
        const parsed = parsePrice(price)
        const usage = sidesOf(bounds)
        const longer = { ...usage, outputTokens: (usage.outputTokens ?? 0) + more }
        const covered = chargeAtMost(usage, parsed) + outputAtMost(more, usage, parsed)
        assert.ok(computeCharge(longer, parsed).cost <= covered)
      }),
      { numRuns: 5_000 },
    )
  })

  it('is at the tier of the request that it lengthens', () => {
    const usage = { inputTokens: 101, outputTokens: 5 }
    assert.equal(formatUsd(outputAtMost(4, usage, parsePrice(TIERED))), '60')
  })
})

type Bounds = Usage & { readonly units: NonNullable<Usage['units']> }

function sidesOf({ inputTokens, outputTokens, units }: Bounds): Bounds {
  return { inputTokens, outputTokens, units }
}

/** The bounds with every kind that the price has a rate for as large as its side. */
function openFor({ inputTokens = 0, outputTokens = 0, units }: Bounds, price: PriceConfig): Bounds {
  const writes = price.cache_write_5m !== undefined && price.cache_write_1h !== undefined
  return {
    inputTokens,
    outputTokens,
    units,
    ...(price.cache_read !== undefined && { cacheReadTokens: inputTokens }),
    ...(writes && { cacheWriteTokens: inputTokens, cacheWrite5mTokens: inputTokens, cacheWrite1hTokens: inputTokens }),
    ...(price.audio_input !== undefined && { audioInputTokens: inputTokens }),
    ...(price.audio_output !== undefined && { audioOutputTokens: outputTokens }),
    ...(price.reasoning !== undefined && { reasoningTokens: outputTokens }),
  }
}

/** A usage with so many hundredths of each bound; the lifetimes of what was written to a cache are parts of it. */
function within(bounds: Bounds, shares: readonly number[]): Usage {
  const take = (bound: number | undefined, share: number | undefined) => Math.floor(((bound ?? 0) * (share ?? 0)) / 100)
  const writes = bounds.cacheWriteTokens ?? bounds.cacheWrite5mTokens
  const cacheWriteTokens = take(writes, shares[0])
  const cacheWrite1hTokens = Math.min(
    take(bounds.cacheWrite1hTokens ?? bounds.cacheWriteTokens, shares[1]),
    cacheWriteTokens,
  )
  const units = Object.entries(bounds.units).map(([unit, most]) => [
    unit,
    ((most ?? 0n) * BigInt(shares[11] ?? 0)) / 100n,
  ])
  return {
    inputTokens: take(bounds.inputTokens, shares[2]),
    outputTokens: take(bounds.outputTokens, shares[3]),
    cacheReadTokens: take(bounds.cacheReadTokens, shares[4]),
    cacheWriteTokens,
    cacheWrite1hTokens,
    cacheWrite5mTokens: take(cacheWriteTokens - cacheWrite1hTokens, shares[5]),
    audioInputTokens: take(bounds.audioInputTokens, shares[6]),
    audioOutputTokens: take(bounds.audioOutputTokens, shares[7]),
    reasoningTokens: take(bounds.reasoningTokens, shares[8]),
    units: Object.fromEntries(units),
  }
}

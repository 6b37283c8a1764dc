import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatUsd } from '#core/money.ts'
import { computeCharge } from '#metering/charge.ts'
import { NO_FEE, parseFee, toFeePrice } from './fee.ts'
import { isFree, parsePrice } from './price.ts'

const price = parsePrice({ input: '1', output: '2', per: '1M' })
const costOf = (usage: object, fee: object) => formatUsd(computeCharge(usage, toFeePrice(price, parseFee(fee))).cost)

describe('a fee', () => {
  it('is a part of what the platform would charge, and an amount a request, rounded once', () => {
    const usage = { inputTokens: 10, outputTokens: 5 }
    assert.equal(costOf(usage, { percent: '5', per_request: '0.0001' }), '0.000101')
    assert.equal(costOf(usage, { percent: '100' }), '0.00002')
    assert.equal(costOf(usage, { percent: '0.0001' }), '0.00000000002')
    assert.equal(costOf({}, { per_request: '0.0001' }), '0.0001')
    assert.equal(costOf(usage, {}), '0')
  })

  it('is exact for any usage and any percentage', () => {
    const count = fc.integer({ min: 0, max: 10_000_000 })
    fc.assert(
      fc.property(count, count, fc.integer({ min: 0, max: 9_999_999 }), (inputTokens, outputTokens, share) => {
        const percent = `${Math.floor(share / 10_000)}.${String(share % 10_000).padStart(4, '0')}`
        const fee = parseFee({ percent })
        assert.equal(fee.share, BigInt(share))
        // Picodollars of the platform's price are whole here: a millionth of a dollar a token.
        const whole = BigInt(inputTokens + 2 * outputTokens) * 1_000_000n
        const { cost } = computeCharge({ inputTokens, outputTokens }, toFeePrice(price, fee))
        assert.equal(cost, (whole * BigInt(share)) / 1_000_000n)
      }),
    )
  })

  it('has a price version of its own, the same for the same fee', () => {
    const five = toFeePrice(price, parseFee({ percent: '5' })).version
    assert.match(five, /^pv_[0-9a-f]{16}$/)
    assert.equal(five, toFeePrice(price, parseFee({ percent: '5.0' })).version)
    const others = [price.version, ...['4', '50'].map(percent => toFeePrice(price, parseFee({ percent })).version)]
    assert.equal(new Set([five, ...others, toFeePrice(price, NO_FEE).version]).size, 5)
  })

  it('is none where nothing is asked for, also of what costs something', () => {
    assert.ok(isFree(toFeePrice(price, NO_FEE)))
    assert.ok(isFree(toFeePrice(parsePrice({ input: '0', output: '0' }), parseFee({ percent: '5' }))))
    assert.ok(!isFree(toFeePrice(price, parseFee({ percent: '5' }))))
    assert.ok(!isFree(toFeePrice(price, parseFee({ per_request: '0.1' }))))
    assert.ok(!isFree(price))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatDecimal } from './money.ts'
import { QUANTITY_PLACES, tokenCount, unitQuantity, wholeQuantity } from './usage.ts'

describe('tokenCount', () => {
  it('is any whole number that is not negative, zero included', () => {
    fc.assert(fc.property(fc.maxSafeNat(), count => assert.equal(tokenCount(count), count)))
  })

  it('is unknown for anything that cannot be a count', () => {
    for (const value of [
      -1,
      0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      '5',
      null,
      undefined,
      [5],
      {},
      true,
      5n,
    ]) {
      assert.equal(tokenCount(value), undefined)
    }
  })
})

describe('unitQuantity', () => {
  const told = (value: unknown) => {
    const quantity = unitQuantity(value)
    return quantity === undefined ? undefined : formatDecimal(quantity, QUANTITY_PLACES)
  }

  it('is the decimal that was written, not the float that it became', () => {
    assert.deepEqual([3.27, 0.1, 1e-7, 1.048576, 0, 12, '3.270', ' 7.5 '].map(told), [
      '3.27',
      '0.1',
      '0.0000001',
      '1.048576',
      '0',
      '12',
      '3.27',
      '7.5',
    ])
  })

  it('is rounded half to even beyond the twelfth digit, as durations out of floats need it', () => {
    assert.equal(told(8.470000267028809), '8.470000267029')
    assert.equal(told('0.0000000000005'), '0')
    assert.equal(told('0.0000000000015'), '0.000000000002')
    assert.equal(told(1e-300), '0')
  })

  it('is unknown for anything that cannot be one', () => {
    for (const value of [
      -1,
      -0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1e17,
      '',
      'long',
      '1,5',
      '-3',
      null,
      undefined,
      [3],
      {},
    ]) {
      assert.equal(unitQuantity(value), undefined, JSON.stringify(value))
    }
  })

  it('is a whole number as it is', () => {
    fc.assert(fc.property(fc.nat(), count => assert.equal(unitQuantity(count), wholeQuantity(count))))
  })
})

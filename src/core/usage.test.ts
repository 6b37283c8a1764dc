import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { tokenCount } from './usage.ts'

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

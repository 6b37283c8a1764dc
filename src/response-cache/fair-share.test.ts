import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fairShare } from './fair-share.ts'

const wanted = fc.array(fc.nat({ max: 1e9 }), { minLength: 1, maxLength: 20 })
const total = fc.nat({ max: 2e9 })

describe('a fair share', () => {
  it('leaves all together within the total, and wastes less than one byte each', () => {
    fc.assert(
      fc.property(wanted, total, (sizes, bound) => {
        const share = fairShare(sizes, bound)
        const used = sizes.reduce((sum, bytes) => sum + Math.min(bytes, share), 0)
        assert.ok(used <= bound || share === Number.POSITIVE_INFINITY)
        if (share === Number.POSITIVE_INFINITY) assert.ok(used <= bound)
        else assert.ok(bound - used < sizes.length)
      }),
    )
  })

  it('takes nothing from who has no more than an equal part', () => {
    fc.assert(
      fc.property(wanted, total, (sizes, bound) => {
        const equalPart = bound / sizes.length
        const share = fairShare(sizes, bound)
        for (const bytes of sizes) if (bytes <= Math.floor(equalPart)) assert.ok(bytes <= share)
      }),
    )
  })

  it('is everything for who is alone', () => {
    assert.equal(fairShare([500], 300), 300)
    assert.equal(fairShare([10, 500], 300), 290)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { backoffMs } from './backoff.ts'

describe('backoffMs', () => {
  const options = { firstMs: 100, maxMs: 5_000 }
  const longest = () => 1 - Number.EPSILON

  it('doubles with every attempt up to its limit', () => {
    assert.deepEqual(
      [0, 1, 2, 5, 6, 100, 5_000].map(attempt => backoffMs(attempt, options, longest)),
      [100, 200, 400, 3_200, 5_000, 5_000, 5_000],
    )
  })

  it('spreads pauses over the upper half, so that nodes do not return together', () => {
    assert.equal(
      backoffMs(0, options, () => 0),
      50,
    )
    assert.equal(
      backoffMs(0, options, () => 0.5),
      75,
    )
    fc.assert(
      fc.property(fc.nat(), attempt => {
        const full = backoffMs(attempt, options, longest)
        const pause = backoffMs(attempt, options)
        assert.ok(pause >= full / 2 && pause <= full)
      }),
    )
  })
})

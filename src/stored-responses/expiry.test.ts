import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { expiryOf, prolongedExpiryOf, stepOf } from './expiry.ts'

const now = fc.integer({ min: 0, max: 4e12 })
const kept = fc.integer({ min: 1_000, max: 400 * 86_400_000 })

describe('the expiry of a response', () => {
  it('comes no earlier than it was asked to be kept, and at most a thirtieth later', () => {
    fc.assert(
      fc.property(now, kept, (nowMs, keptMs) => {
        const extraMs = expiryOf(nowMs, keptMs).getTime() - nowMs - keptMs
        assert.ok(extraMs >= 0 && extraMs < stepOf(keptMs))
      }),
    )
  })

  it('never comes before that of a response that went on from it within a step', () => {
    fc.assert(
      fc.property(now, kept, fc.nat({ max: 100 }), (nowMs, keptMs, percent) => {
        const laterMs = nowMs + Math.floor((stepOf(keptMs) * percent) / 100)
        assert.ok(prolongedExpiryOf(nowMs, keptMs) >= expiryOf(laterMs, keptMs))
      }),
    )
  })

  it('is the same for a whole step, so that a conversation does not write at every turn', () => {
    const dayMs = 86_400_000
    assert.deepEqual(expiryOf(5 * dayMs + 1, 30 * dayMs), expiryOf(6 * dayMs, 30 * dayMs))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { RetryBudget } from './retry-budget.ts'

describe('a retry budget', () => {
  it('has three for a quiet model', () => {
    const budget = new RetryBudget()
    budget.requested(0)
    assert.deepEqual(
      [1, 2, 3, 4].map(() => budget.take(0, 0.2)),
      [true, true, true, false],
    )
    assert.equal(budget.take(60_000, 0.2), true, 'a minute later')
  })

  it('never lets more pass than its share and three, whatever comes when', () => {
    const steps = fc.array(fc.record({ afterMs: fc.nat(3_000), isRetry: fc.boolean() }), { maxLength: 300 })
    fc.assert(
      fc.property(steps, events => {
        const budget = new RetryBudget()
        let nowMs = 0
        let requests = 0
        let retries = 0
        for (const { afterMs, isRetry } of events) {
          nowMs += afterMs / 100
          if (!isRetry) {
            requests++
            budget.requested(nowMs)
          } else if (budget.take(nowMs, 0.2)) retries++
        }
        // All of it lies within one window.
        return retries <= 3 + 0.2 * requests
      }),
    )
  })
})

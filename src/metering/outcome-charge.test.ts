import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parsePrice } from '#catalog/price.ts'
import { computeCharge } from './charge.ts'
import { chargeFor } from './outcome-charge.ts'

const usage = { inputTokens: 3, outputTokens: 4 }
const perToken = parsePrice({ input: '1', output: '1' })

describe('what an outcome costs', () => {
  it('is usage times price for whole answers, and for those that their client or their credit ended', () => {
    for (const outcome of ['completed', 'client_gone', 'stopped'] as const) {
      assert.deepEqual(chargeFor(outcome, usage, perToken), computeCharge(usage, perToken))
    }
  })

  it('is nothing for an answer that was cut off, whose quantity and price stay on record', () => {
    assert.deepEqual(chargeFor('cut', usage, perToken), { ...computeCharge(usage, perToken), cost: 0n })
  })

  it('is nothing for an answer given again, which has neither a quantity nor a price', () => {
    const free = { cost: 0n, quantity: 0n, priceVersion: 'cached' }
    assert.deepEqual(chargeFor('cached', usage, perToken), { ...free, unit: 'per_token' })
    assert.deepEqual(chargeFor('cached', usage, parsePrice({ request: '1' })), { ...free, unit: 'per_request' })
    assert.deepEqual(chargeFor('cached', usage, parsePrice({ second: '1' })), { ...free, unit: 'per_second' })
  })
})

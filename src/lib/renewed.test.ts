import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Renewed } from './renewed.ts'

const LIFE_MS = 3_600_000

/** A value that says how often it was fetched, for an hour; the clock and the failures are the test's. */
function counting() {
  const state = { nowMs: 0, fetched: 0, failure: undefined as Error | undefined, told: [] as unknown[] }
  const renewed = new Renewed<number>({
    now: () => state.nowMs,
    fetch: async () => {
      state.fetched += 1
      if (state.failure) throw state.failure
      return { value: state.fetched, expiresAtMs: state.nowMs + LIFE_MS }
    },
    onFailure: error => state.told.push(error),
  })
  return { renewed, state }
}

describe('Renewed', () => {
  it('fetches once for all who wait, and then has the value at hand', async () => {
    const { renewed, state } = counting()
    assert.deepEqual(await Promise.all([renewed.get(), renewed.get(), renewed.get()]), [1, 1, 1])
    assert.equal(renewed.get(), 1)
    assert.equal(state.fetched, 1)
  })

  it('replaces the value before it expires, while it serves the old one', async () => {
    const { renewed, state } = counting()
    await renewed.get()
    state.nowMs = LIFE_MS - 6 * 60_000
    assert.equal(renewed.get(), 1)
    assert.equal(state.fetched, 1)
    state.nowMs = LIFE_MS - 4 * 60_000
    assert.equal(renewed.get(), 1)
    assert.equal(renewed.get(), 1)
    await turn()
    assert.equal(renewed.get(), 2)
    assert.equal(state.fetched, 2)
  })

  it('goes on with a good value when it cannot be replaced, tells that, and does not try at every use', async () => {
    const { renewed, state } = counting()
    await renewed.get()
    state.nowMs = LIFE_MS - 4 * 60_000
    state.failure = new Error('away')
    for (let use = 0; use < 5; use++) {
      assert.equal(renewed.get(), 1)
      await turn()
    }
    assert.equal(state.fetched, 2)
    assert.deepEqual(state.told, [state.failure])
    state.nowMs += 10_000
    renewed.get()
    assert.equal(state.fetched, 3)
    await turn()
  })

  it('never serves a value that has expired', async () => {
    const { renewed, state } = counting()
    await renewed.get()
    state.nowMs = LIFE_MS
    state.failure = new Error('away')
    await assert.rejects(async () => renewed.get(), /away/)
    state.failure = undefined
    assert.equal(await renewed.get(), 3)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeCache } from './cache-control.ts'

describe('decodeCache', () => {
  it('reads a breakpoint and how long it lives', () => {
    assert.deepEqual(decodeCache({ type: 'ephemeral' }), {})
    assert.deepEqual(decodeCache({ type: 'ephemeral', ttl: null }), {})
    assert.deepEqual(decodeCache({ type: 'ephemeral', ttl: '5m' }), { ttl: '5m' })
    assert.deepEqual(decodeCache({ type: 'ephemeral', ttl: '1h' }), { ttl: '1h' })
  })

  it('makes nothing of any other', () => {
    for (const control of [undefined, null, 'ephemeral', {}, { type: 'eternal' }, { type: 'ephemeral', ttl: '2h' }]) {
      assert.equal(decodeCache(control), undefined)
    }
  })
})

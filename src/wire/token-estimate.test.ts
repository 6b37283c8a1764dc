import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TYPICAL, textTokens } from './token-estimate.ts'

describe('token estimates', () => {
  it('take four bytes of text for a token, and a started one for a whole', () => {
    assert.deepEqual([0, 1, 4, 5, 4000].map(textTokens), [0, 1, 1, 2, 1000])
  })

  it('take audio by the bytes that its base64 stands for', () => {
    const second = Buffer.alloc(16_000).toString('base64')
    assert.equal(TYPICAL.audio(second.length), 21)
    assert.equal(TYPICAL.audio(0), 0)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mintCredential } from '#tenants/credential.ts'
import { scrub } from './scrub.ts'

describe('scrub', () => {
  it('blanks our own credentials and those of providers, and keeps the sentence around them', () => {
    const credentials = [
      mintCredential('sk'),
      mintCredential('mt'),
      'whsec_0123456789abcdef',
      'sk-ant-api03-abc_DEF-0123456789',
      'sk-proj-0123456789abcdef',
      'xai-0123456789abcdef',
      'gsk_0123456789abcdef',
      'AIzaSyA0123456789_abcdef-xyz',
    ]
    for (const credential of credentials) {
      assert.equal(scrub(`key "${credential}" is invalid`), 'key "[redacted]" is invalid')
    }
  })

  it('blanks whatever follows Bearer, in any case', () => {
    assert.equal(scrub('sent Authorization: Bearer abc.def/ghi= to x'), 'sent Authorization: [redacted] to x')
    assert.equal(scrub('authorization: bearer abc.def'), 'authorization: [redacted]')
  })

  it('leaves ordinary words alone', () => {
    const text = 'The task sk-1 asked the market for pk and mt; connect ECONNREFUSED 127.0.0.1:443'
    assert.equal(scrub(text), text)
  })

  it('bounds the length, and lets no beginning of a credential through at the edge', () => {
    assert.equal(scrub('x'.repeat(10_000)).length, 500)
    const credential = mintCredential('sk')
    for (let padding = 440; padding <= 500; padding++) {
      const scrubbed = scrub(`${'.'.repeat(padding)}${credential}`)
      assert.doesNotMatch(scrubbed, /sk-/, `after ${padding} characters`)
      assert.ok(scrubbed.length <= 500)
    }
  })
})

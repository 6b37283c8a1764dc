import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { troubleOfFailure, troubleOfStatus } from './trouble.ts'

const failed = (code: string) => troubleOfFailure({ kind: 'connect', cause: Object.assign(new Error('x'), { code }) })

describe('troubleOfFailure', () => {
  it('tells names, ports, ways and certificates apart', () => {
    assert.match(failed('ENOTFOUND').problem, /no address/)
    assert.match(failed('EAI_AGAIN').fix, /DNS/)
    assert.match(failed('ECONNREFUSED').problem, /nobody listens/)
    for (const code of ['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']) {
      assert.match(failed(code).problem, /TLS certificate/)
    }
  })

  it('names the timeout that was too short', () => {
    const cause = Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
    assert.match(troubleOfFailure({ kind: 'first-byte-timeout', cause }).fix, /timeout\.first_byte/)
  })
})

describe('troubleOfStatus', () => {
  it('keeps the words of the provider, in one line, and blanks what looks like a key', () => {
    const said = JSON.stringify({ error: { message: 'Bad key\n sk-abcdefghijklmnop' } })
    assert.equal(troubleOfStatus(401, said).problem, 'the key is refused (401: Bad key [redacted])')
    assert.equal(troubleOfStatus(404, '{"message":"no such model"}').problem.includes('no such model'), true)
    assert.equal(troubleOfStatus(500, '').problem, 'the provider has trouble (500)')
  })
})

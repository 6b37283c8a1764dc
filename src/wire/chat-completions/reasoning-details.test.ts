import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeReasoning } from './reasoning-details.ts'

describe('decodeReasoning', () => {
  it('reads words under either of their names', () => {
    assert.deepEqual(decodeReasoning({ reasoning_content: 'a', reasoning: 'a' }), [{ type: 'reasoning', text: 'a' }])
    assert.deepEqual(decodeReasoning({ reasoning: 'b' }), [{ type: 'reasoning', text: 'b' }])
    assert.deepEqual(decodeReasoning({ reasoning_content: '', reasoning: null, reasoning_details: null }), [])
  })

  it('believes the entries where these have words, too', () => {
    const entry = { type: 'reasoning.text', text: 'whole', signature: 's', index: 0 }
    assert.deepEqual(decodeReasoning({ reasoning_content: 'le', reasoning_details: [entry] }), [
      { type: 'reasoning', text: 'whole', signature: 's' },
    ])
  })

  it('gives the words to a signature that has none', () => {
    const entry = { type: 'reasoning.text', signature: 's', index: 0 }
    assert.deepEqual(decodeReasoning({ reasoning: 'a', reasoning_details: [entry] }), [
      { type: 'reasoning', text: 'a', signature: 's' },
    ])
  })

  it('keeps the words where the entries are seals alone', () => {
    const entry = { type: 'reasoning.encrypted', data: 'e', id: 'rs_1', format: null, index: 3 }
    assert.deepEqual(decodeReasoning({ reasoning: 'a', reasoning_details: [entry, 'nonsense', { type: 'x' }] }), [
      { type: 'reasoning', text: 'a' },
      {
        type: 'reasoning',
        text: '',
        encrypted: 'e',
        extensions: { 'chat-completions': { id: 'rs_1', index: 3 } },
      },
    ])
  })
})

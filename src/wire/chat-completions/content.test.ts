import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeContent, decodeThought } from './content.ts'

describe('decodeContent', () => {
  it('reads a text, a list of texts and thoughts, and nothing', () => {
    assert.deepEqual(decodeContent('a'), [{ type: 'text', text: 'a' }])
    const list = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'b' }, null, { type: 'text', text: 'c' }] },
      { type: 'thinking', thinking: 'd' },
      { type: 'text', text: 'e' },
      { type: 'refusal', refusal: 'f' },
    ]
    assert.deepEqual(decodeContent(list), [
      { type: 'reasoning', text: 'bc' },
      { type: 'reasoning', text: 'd' },
      { type: 'text', text: 'e' },
      { type: 'refusal', text: 'f' },
    ])
    for (const nothing of [null, undefined, 5, {}, [null, 'x']]) assert.deepEqual(decodeContent(nothing), [])
  })

  it('keeps a part that it does not know', () => {
    for (const value of [{ type: 'reference' }, { type: 'text' }, { type: 'thinking' }, {}]) {
      assert.deepEqual(decodeContent([value]), [{ type: 'opaque', value }])
    }
  })
})

describe('decodeThought', () => {
  it('finds the thought under any of its names, once', () => {
    const details = [
      { type: 'reasoning.summary', summary: 'a' },
      { type: 'reasoning.text', text: 'b', signature: 's' },
      { type: 'reasoning.encrypted', data: 'x' },
    ]
    assert.equal(decodeThought({ reasoning_content: 'a', reasoning: 'a' }), 'a')
    assert.equal(decodeThought({ reasoning_content: null, reasoning: 'a', reasoning_details: details }), 'a')
    assert.equal(decodeThought({ reasoning_content: '', reasoning: 'a' }), 'a')
    assert.equal(decodeThought({ reasoning_details: details }), 'ab')
    for (const nothing of [{}, { reasoning: { effort: 'low' } }, { reasoning_details: 'x' }]) {
      assert.equal(decodeThought(nothing), '')
    }
  })
})

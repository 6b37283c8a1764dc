import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeContent } from './content.ts'

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

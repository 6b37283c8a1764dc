import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { jsonSpace, printedObject } from '../../../test/support/arbitrary-json.ts'
import { cutPlaces, cutText } from '../../../test/support/cut.ts'
import { JsonProgress } from './progress.ts'

function isComplete(...fragments: string[]): boolean {
  const progress = new JsonProgress()
  for (const fragment of fragments) progress.push(fragment)
  return progress.isComplete
}

describe('JsonProgress', () => {
  it('tells a whole object or array from the beginning of one', () => {
    for (const text of ['{}', '[]', ' {"a":[1,{"b":2}]}\n', '[{"a":"}"}]']) assert.equal(isComplete(text), true, text)
    for (const text of ['', '{', '{"a":1', '{"a":{}', '[{}', '{"a":"}"', '"{}"', 'null', '12']) {
      assert.equal(isComplete(text), false, text)
    }
  })

  it('is not misled by brackets and escaped quotes in strings, wherever the text is cut', () => {
    assert.equal(isComplete('{"a":"', '\\', '"', '}', '"'), false)
    assert.equal(isComplete('{"a":"', '\\', '"', '}', '"', '}'), true)
    assert.equal(isComplete('{"a":"\\', '\\"', '}'), true)
  })

  it('becomes true at the last bracket of any object and not before', () => {
    fc.assert(
      fc.property(printedObject, jsonSpace, cutPlaces, ({ text }, space, places) => {
        const end = text.trimEnd()
        assert.equal(isComplete(...cutText(end.slice(0, -1), places)), false)
        assert.equal(isComplete(...cutText(end, places)), true)
        assert.equal(isComplete(...cutText(end + space, places)), true)
      }),
      { numRuns: 300 },
    )
  })
})

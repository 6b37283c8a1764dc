import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cutPlaces, cutText } from '../../../test/support/cut.ts'
import { TextMemberReader } from './text-member.ts'

function read(...fragments: string[]): string {
  const reader = new TextMemberReader('input')
  return fragments.map(fragment => reader.push(fragment)).join('') + reader.end()
}

describe('TextMemberReader', () => {
  it('reads any text back, however it was spaced, escaped and cut', () => {
    const space = fc.stringMatching(/^[ \n\t]{0,3}$/)
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.tuple(space, space, space, space),
        fc.boolean(),
        cutPlaces,
        (text, [a, b, c, d], isEscaped, places) => {
          const plain = JSON.stringify(text)
          const escaped = isEscaped ? `"${[...Array(text.length).keys()].map(i => unit(text, i)).join('')}"` : plain
          assert.equal(read(...cutText(`${a}{${b}"input"${c}:${d}${escaped}${a}}`, places)), text)
        },
      ),
    )
  })

  it('gives what has come of a text before the rest does', () => {
    const reader = new TextMemberReader('input')
    assert.deepEqual(
      ['{"in', 'put": "l', 's \\', 'n\\u26', '03\\ud83d', '\\ude00', 'x"', '}'].map(piece => reader.push(piece)),
      ['', 'l', 's ', '\n', '☃', '😀', 'x', ''],
    )
  })

  it('keeps what came of a text that was broken off', () => {
    assert.equal(read('{"input":"ls -l'), 'ls -l')
    assert.equal(read('{"input":"a\\'), 'a')
    assert.equal(read('{"input":"\\ud83d'), '\ud83d')
  })

  it('takes escapes that JSON does not have for what they look like', () => {
    assert.equal(read('{"input":"\\d+\\u12zz\n"}'), '\\d+\\u12zz\n')
  })

  it('gives what is no such object as it is', () => {
    for (const text of ['', 'ls', '{}', '{"other":"x"}', '{"input":5}', '{"inp', `{${' '.repeat(300)}"input":"x"}`]) {
      assert.equal(read(text), text)
    }
  })
})

function unit(text: string, index: number): string {
  return `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`
}

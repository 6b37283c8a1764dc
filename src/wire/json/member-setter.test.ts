import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { printedObject } from '../../../test/support/arbitrary-json.ts'
import { applyEdits, setMember } from './edit.ts'
import { MemberSetter } from './member-setter.ts'

function setEach(key: string, json: string, texts: readonly string[]): string[] {
  const setter = new MemberSetter(key, json)
  return texts.map(text => {
    const bytes = Buffer.from(text)
    return setter.set(bytes, 0, bytes.length).toString()
  })
}

describe('MemberSetter', () => {
  it('sets the member of objects that begin alike and of those that do not', () => {
    assert.deepEqual(
      setEach('model', '"ours"', [
        '{"id":1,"model":"theirs","a":1}',
        '{"id":1,"model":"theirs","b":[2]}',
        '{"id":2,"model":"theirs"}',
        '{"id":2,"model":"theirs"}',
        '{"a":1}',
        '{}',
      ]),
      [
        '{"id":1,"model":"ours","a":1}',
        '{"id":1,"model":"ours","b":[2]}',
        '{"id":2,"model":"ours"}',
        '{"id":2,"model":"ours"}',
        '{"a":1,"model":"ours"}',
        '{"model":"ours"}',
      ],
    )
  })

  it('is not misled by values that begin like the one before', () => {
    const texts = ['{"n":12}', '{"n":123}', '{"n":"a"}', '{"n":"a\\"b"}', '{"n":"ab"}', '{"n":true}']
    assert.deepEqual(setEach('n', '0', texts), Array(texts.length).fill('{"n":0}'))
  })

  it('does what setMember does, object after object', () => {
    fc.assert(
      fc.property(fc.array(printedObject, { maxLength: 4 }), fc.array(fc.nat()), (objects, order) => {
        fc.pre(objects.length > 0)
        const texts = order.map(turn => (objects[turn % objects.length] as (typeof objects)[number]).text)
        for (const key of ['a', 'model', 'b']) {
          const expected = texts.map(text => {
            const bytes = Buffer.from(text)
            return applyEdits(bytes, [setMember(bytes, key, '"x"')]).toString()
          })
          assert.deepEqual(setEach(key, '"x"', texts), expected)
        }
      }),
    )
  })
})

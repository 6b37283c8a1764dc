import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { printedObject } from '../../../test/support/arbitrary-json.ts'
import { closingBrace, findMember, scanMembers } from './members.ts'

function members(text: string): [string, string][] {
  const bytes = Buffer.from(text)
  return scanMembers(bytes).map(({ key, valueStart, valueEnd }) => [key, bytes.toString('utf8', valueStart, valueEnd)])
}

describe('scanMembers', () => {
  it('finds each value without the white space around it', () => {
    assert.deepEqual(members(' {\n"a" : 1.50 ,\t"b":[1, {"c":"]}"}] , "d":"x" }\n'), [
      ['a', '1.50'],
      ['b', '[1, {"c":"]}"}]'],
      ['d', '"x"'],
    ])
  })

  it('reads escapes in keys and is not misled by escaped quotes in values', () => {
    assert.deepEqual(members('{"m\\u006fdel":"a\\"b","\\"":"\\\\","\\\\":1,"c":["\\\\\\"]"]}'), [
      ['model', '"a\\"b"'],
      ['"', '"\\\\"'],
      ['\\', '1'],
      ['c', '["\\\\\\"]"]'],
    ])
  })

  it('lists a repeated key as often as it stands there', () => {
    assert.deepEqual(members('{"a":1,"\\u0061":2}'), [
      ['a', '1'],
      ['a', '2'],
    ])
  })

  it('finds nothing in an empty object', () => {
    assert.deepEqual(members('{ \n }'), [])
  })

  it('agrees with JSON.parse on every key and value, however the text is spelled', () => {
    fc.assert(
      fc.property(printedObject, ({ text, members: printed }) => {
        const scanned = members(text)
        assert.deepEqual(
          scanned,
          printed.map(({ key, valueText }) => [key, valueText]),
        )
        const values = scanned.map(([key, value]) => [key, JSON.parse(value)])
        assert.deepEqual(Object.fromEntries(values), JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })
})

describe('findMember', () => {
  it('finds every key that the object has and no other', () => {
    fc.assert(
      fc.property(printedObject, fc.string(), ({ text, members: printed }, other) => {
        const bytes = Buffer.from(text)
        for (const { key, valueText } of printed) {
          const member = findMember(bytes, key)
          assert.equal(member && bytes.toString('utf8', member.valueStart, member.valueEnd), valueText)
        }
        const isThere = printed.some(({ key }) => key === other)
        assert.equal(findMember(bytes, other) !== undefined, isThere)
      }),
      { numRuns: 300 },
    )
  })

  it('finds a key of several bytes a character in a body that has escapes elsewhere', () => {
    const bytes = Buffer.from('{"schlüssel":"a","b":"\\n"}')
    assert.deepEqual(findMember(bytes, 'schlüssel'), { key: 'schlüssel', start: 1, valueStart: 14, valueEnd: 17 })
  })

  it('looks at the top level only', () => {
    assert.equal(findMember(Buffer.from('{"a":{"model":1},"b":["model",2]}'), 'model'), undefined)
  })

  it('starts at the object that follows an offset', () => {
    const bytes = Buffer.from('data: {"a":1,"b":2}')
    const member = findMember(bytes, 'b', 'data:'.length)
    assert.deepEqual(member, { key: 'b', start: 13, valueStart: 17, valueEnd: 18 })
  })
})

describe('closingBrace', () => {
  it('is the last one before the end of the object', () => {
    const bytes = Buffer.from('{"a":"}"} \n\n}')
    assert.equal(closingBrace(bytes, 10), 8)
    assert.equal(closingBrace(bytes), 12)
  })
})

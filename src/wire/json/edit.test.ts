import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { jsonText, printedObject } from '../../../test/support/arbitrary-json.ts'
import { addMember, applyEdits, type Edit, removeMember, removeSpans, setMember } from './edit.ts'
import { scanElements } from './elements.ts'

/** The edited text, after checking that no byte outside the edit has changed. */
function applied(bytes: Buffer, edit: Edit): string {
  const result = applyEdits(bytes, [edit])
  const tail = bytes.subarray(edit.end)
  assert.deepEqual(result.subarray(0, edit.start), bytes.subarray(0, edit.start))
  assert.deepEqual(result.subarray(result.length - tail.length), tail)
  assert.equal(result.length, edit.start + Buffer.byteLength(edit.text) + tail.length)
  return result.toString()
}

/** Without backslashes, as in `printedObject`. */
const freshKey = fc.string({ unit: 'grapheme', maxLength: 8 }).filter(key => !key.includes('\\'))

describe('applyEdits', () => {
  it('gives back the very bytes when there is nothing to edit', () => {
    const bytes = Buffer.from('{}')
    assert.equal(applyEdits(bytes, []), bytes)
  })

  it('makes several edits in one pass, in whatever order they are given', () => {
    const edits = [
      { start: 10, end: 10, text: '!' },
      { start: 0, end: 1, text: 'é😀' },
      { start: 4, end: 6, text: '' },
    ]
    assert.equal(applyEdits(Buffer.from('0123456789'), edits).toString(), 'é😀1236789!')
  })

  it('inserts before what is replaced at the same place', () => {
    const edits = [
      { start: 2, end: 4, text: '' },
      { start: 2, end: 2, text: 'a' },
      { start: 2, end: 2, text: 'b' },
    ]
    assert.equal(applyEdits(Buffer.from('012345'), edits).toString(), '01ab45')
  })

  it('changes nothing but the edited spans', () => {
    const plan = fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string(), fc.boolean()), { maxLength: 6 })
    fc.assert(
      fc.property(plan, pieces => {
        const edits: Edit[] = []
        let expected = ''
        let at = 0
        for (const [kept, replacement, isEdited] of pieces) {
          const end = at + Buffer.byteLength(kept)
          if (isEdited) edits.push({ start: at, end, text: replacement })
          expected += isEdited ? replacement : kept
          at = end
        }
        const bytes = Buffer.from(pieces.map(([kept]) => kept).join(''))
        assert.equal(applyEdits(bytes, edits).toString(), expected)
      }),
    )
  })
})

describe('setMember', () => {
  it('replaces the value of a key that is there, and nothing else', () => {
    fc.assert(
      fc.property(printedObject, fc.nat(), jsonText, ({ text, members }, pick, json) => {
        fc.pre(members.length > 0)
        const { key, valueText } = members[pick % members.length]!
        const bytes = Buffer.from(text)
        const edit = setMember(bytes, key, json)
        assert.equal(bytes.toString('utf8', edit.start, edit.end), valueText)
        const result = JSON.parse(applied(bytes, edit))
        const others = members.filter(member => member.key !== key)
        const expected = [...others.map(member => [member.key, JSON.parse(member.valueText)]), [key, JSON.parse(json)]]
        assert.deepEqual(result, Object.fromEntries(expected))
      }),
      { numRuns: 500 },
    )
  })

  it('adds a key that is not there', () => {
    fc.assert(
      fc.property(printedObject, freshKey, jsonText, ({ text, members }, key, json) => {
        fc.pre(members.every(member => member.key !== key))
        const bytes = Buffer.from(text)
        const result = JSON.parse(applied(bytes, setMember(bytes, key, json)))
        const expected = [...members.map(member => [member.key, JSON.parse(member.valueText)]), [key, JSON.parse(json)]]
        assert.deepEqual(result, Object.fromEntries(expected))
      }),
      { numRuns: 300 },
    )
  })

  it('edits an object that lies inside other bytes', () => {
    fc.assert(
      fc.property(printedObject, freshKey, jsonText, ({ text }, key, json) => {
        const bytes = Buffer.from(`data: {"${text}\n\n}`)
        const start = 'data: {"'.length
        const end = start + Buffer.byteLength(text)
        const result = applied(bytes, setMember(bytes, key, json, start, end))
        assert.ok(result.startsWith('data: {"') && result.endsWith('\n\n}'))
        const object = JSON.parse(result.slice(start, -'\n\n}'.length))
        assert.deepEqual(object, { ...JSON.parse(text), [key]: JSON.parse(json) })
      }),
    )
  })
})

describe('addMember', () => {
  it('needs no comma in an object that is empty but for white space', () => {
    for (const text of ['{}', ' { \n\t} \n']) {
      const bytes = Buffer.from(text)
      assert.deepEqual(JSON.parse(applied(bytes, addMember(bytes, 'a', '1'))), { a: 1 })
    }
  })

  it('appends a second member beside another edit of the same object', () => {
    const bytes = Buffer.from('{"model":"a","x":1}')
    const edits = [setMember(bytes, 'model', '"b"'), addMember(bytes, '_routing', '{}')]
    assert.equal(applyEdits(bytes, edits).toString(), '{"model":"b","x":1,"_routing":{}}')
  })

  it('appends two members in the order of the edits', () => {
    const bytes = Buffer.from('{"x":1}')
    const edits = [setMember(bytes, 'model', '"b"'), addMember(bytes, '_routing', '{}')]
    assert.equal(applyEdits(bytes, edits).toString(), '{"x":1,"model":"b","_routing":{}}')
  })
})

describe('removeMember', () => {
  it('takes a member and its comma out, wherever it stands', () => {
    fc.assert(
      fc.property(printedObject, fc.nat(), ({ text, members }, pick) => {
        fc.pre(members.length > 0)
        const { key } = members[pick % members.length]!
        const bytes = Buffer.from(text)
        const result = JSON.parse(applyEdits(bytes, removeMember(bytes, key)).toString())
        const others = members.filter(member => member.key !== key)
        assert.deepEqual(result, Object.fromEntries(others.map(other => [other.key, JSON.parse(other.valueText)])))
      }),
      { numRuns: 300 },
    )
  })

  it('changes nothing where there is no such member', () => {
    assert.deepEqual(removeMember(Buffer.from('{"a":{"b":1}}'), 'b'), [])
  })
})

describe('removeSpans', () => {
  it('takes any elements of an array out and leaves the others as they are', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonText, fc.boolean()), { maxLength: 8 }), elements => {
        const bytes = Buffer.from(`[${elements.map(([text]) => text).join(',')}]`)
        const edits = removeSpans(scanElements(bytes), index => elements[index]![1])
        const kept = elements.filter(([, isRemoved]) => !isRemoved).map(([text]) => JSON.parse(text))
        assert.deepEqual(JSON.parse(applyEdits(bytes, edits).toString()), kept)
      }),
      { numRuns: 300 },
    )
  })
})

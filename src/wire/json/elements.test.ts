import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { jsonSpace, jsonText } from '../../../test/support/arbitrary-json.ts'
import { scanElements } from './elements.ts'

function elements(text: string, from?: number): string[] {
  const bytes = Buffer.from(text)
  return scanElements(bytes, from).map(({ start, end }) => bytes.toString('utf8', start, end))
}

describe('scanElements', () => {
  it('finds each element without the white space around it', () => {
    assert.deepEqual(elements(' [ 1.50,\n"],[" , [2,[]] ,{"a":"]"},null ]'), [
      '1.50',
      '"],["',
      '[2,[]]',
      '{"a":"]"}',
      'null',
    ])
  })

  it('finds nothing in an empty array', () => {
    assert.deepEqual(elements('[ \n ]'), [])
  })

  it('starts at the array that begins at an offset, and stops at its end', () => {
    assert.deepEqual(elements('{"a":[1,2],"b":[3]}', 5), ['1', '2'])
  })

  it('finds every element as it was printed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonSpace, jsonText, jsonSpace)), printed => {
        const text = `[${printed.map(each => each.join('')).join(',')}]`
        assert.deepEqual(
          elements(text),
          printed.map(([, value]) => value.trim()),
        )
      }),
      { numRuns: 300 },
    )
  })
})

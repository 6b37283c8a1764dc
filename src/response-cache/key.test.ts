import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { keyOf } from './key.ts'

describe('the key of a request', () => {
  it('is the same for the same parts, however they are given', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), parts => {
        assert.deepEqual(keyOf(parts), keyOf(parts.map(part => Buffer.from(part))))
      }),
    )
  })

  it('tells apart where one part ends and the next begins', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), (before, moved, after) => {
        assert.notDeepEqual(keyOf([before + moved, after]), keyOf([before, moved + after]))
        assert.notDeepEqual(keyOf([before, after]), keyOf([before + after]))
      }),
    )
  })
})

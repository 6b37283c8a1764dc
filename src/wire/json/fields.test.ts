import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { objectField, textField } from './fields.ts'

describe('a field that a request must have', () => {
  it('is given when it is of the right kind', () => {
    assert.equal(textField({ a: '' }, 'a', 'x'), '')
    assert.deepEqual(objectField({ a: { b: 1 } }, 'a', 'x'), { b: 1 })
  })

  it('is named with its path when it is not', () => {
    for (const a of [undefined, null, 5, []]) {
      for (const read of [textField, objectField]) {
        assert.throws(
          () => read({ a }, 'a', 'x[0]'),
          (error: unknown) => error instanceof Fault && error.param === 'x[0].a' && error.code === 'invalid_request',
        )
      }
    }
  })
})

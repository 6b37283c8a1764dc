import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeSchema } from './output-schema.ts'

describe('the schema of an answer', () => {
  it('closes objects, wherever they stand', () => {
    const inner = { type: 'object', properties: { a: { type: 'string' } } }
    const closed = { ...inner, additionalProperties: false }
    assert.deepEqual(
      encodeSchema({
        type: 'object',
        properties: { x: inner, y: { type: 'array', items: inner } },
        $defs: { z: inner },
      }),
      {
        type: 'object',
        properties: { x: closed, y: { type: 'array', items: closed } },
        $defs: { z: closed },
        additionalProperties: false,
      },
    )
  })

  it('tells limits in the description', () => {
    assert.deepEqual(encodeSchema({ type: 'integer', description: 'Age', minimum: 0, maximum: 150 }), {
      type: 'integer',
      description: 'Age (minimum: 0, maximum: 150)',
    })
    assert.deepEqual(encodeSchema({ type: 'array', minItems: 2 }), { type: 'array', description: '(minItems: 2)' })
    assert.deepEqual(encodeSchema({ type: 'array', minItems: 1 }), { type: 'array', minItems: 1 })
  })

  it('calls alternatives anyOf', () => {
    assert.deepEqual(encodeSchema({ oneOf: [{ type: 'string', minLength: 1 }, true] }), {
      anyOf: [{ type: 'string', description: '(minLength: 1)' }, true],
    })
  })

  it('takes a property for a property, whatever its name', () => {
    const schema = {
      properties: { minimum: { type: 'string' }, oneOf: { enum: [{ minimum: 1 }] } },
      const: { pattern: 'x' },
    }
    assert.deepEqual(encodeSchema(schema), schema)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeSchema, hasOpenObjects } from './output-schema.ts'

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
    assert.deepEqual(encodeSchema(schema), { ...schema, additionalProperties: false })
  })

  it('closes objects that may be null and those that do not say what they are', () => {
    assert.deepEqual(encodeSchema({ type: ['object', 'null'] }), {
      type: ['object', 'null'],
      additionalProperties: false,
    })
    assert.deepEqual(encodeSchema({ properties: { a: {} }, additionalProperties: true }), {
      properties: { a: {} },
      additionalProperties: false,
    })
  })

  it('tells conditions and unknown formats in the description, too', () => {
    assert.deepEqual(encodeSchema({ type: 'string', format: 'regex', not: { const: '' } }), {
      type: 'string',
      description: '(format: "regex", not: {"const":""})',
    })
    assert.deepEqual(encodeSchema({ type: 'string', format: 'date' }), { type: 'string', format: 'date' })
  })

  it('keeps references, constants and nested lists as they are', () => {
    const schema = {
      $defs: { a: { type: 'object', properties: { x: { const: 1 } }, additionalProperties: false } },
      type: 'array',
      items: { type: 'array', items: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } },
    }
    assert.deepEqual(encodeSchema(schema), schema)
  })
})

describe('an object that may have members it does not name', () => {
  it('is found wherever it stands', () => {
    const open = { type: 'object', additionalProperties: { type: 'string' } }
    for (const schema of [
      open,
      { type: 'array', items: open },
      { properties: { a: { anyOf: [{ type: 'null' }, open] } } },
      { $defs: { a: open } },
    ]) {
      assert.equal(hasOpenObjects(schema), true)
    }
    assert.equal(hasOpenObjects({ properties: { additionalProperties: { type: 'string' } } }), false)
    assert.equal(hasOpenObjects({ type: 'object', additionalProperties: false }), false)
  })
})

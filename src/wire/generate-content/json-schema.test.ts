import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toJsonSchema, toSchemaSubset } from './json-schema.ts'

describe('toJsonSchema', () => {
  it('writes types small at every depth, and null among them for nullable', () => {
    const schema = {
      type: 'OBJECT',
      properties: {
        type: { type: 'STRING', nullable: true },
        list: { type: 'ARRAY', items: { type: 'INTEGER' }, maxItems: '3' },
        either: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }] },
      },
      required: ['type'],
      propertyOrdering: ['type', 'list'],
    }
    assert.deepEqual(toJsonSchema(schema), {
      type: 'object',
      properties: {
        type: { type: ['string', 'null'] },
        list: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
        either: { anyOf: [{ type: 'number' }, { type: 'boolean' }] },
      },
      required: ['type'],
    })
  })
})

describe('toSchemaSubset', () => {
  it('leaves out what the subset has no word for', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
      patternProperties: { '^x': {} },
      properties: { additionalProperties: { type: 'string', default: 'x', examples: ['y'] } },
      required: ['additionalProperties'],
    }
    assert.deepEqual(toSchemaSubset(schema), {
      type: 'OBJECT',
      properties: { additionalProperties: { type: 'STRING' } },
      required: ['additionalProperties'],
    })
  })

  it('writes references out, but not for ever', () => {
    const schema = {
      $defs: { city: { type: 'string' }, node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      type: 'object',
      properties: { city: { $ref: '#/$defs/city', description: 'Where' }, lost: { $ref: '#/$defs/none' } },
    }
    assert.deepEqual(toSchemaSubset(schema), {
      type: 'OBJECT',
      properties: { city: { type: 'STRING', description: 'Where' }, lost: { type: 'OBJECT' } },
    })
    const { $defs } = schema
    assert.ok(JSON.stringify(toSchemaSubset({ $defs, $ref: '#/$defs/node' })).length < 1000)
  })

  it('does not let references multiply without bound', () => {
    const next = { $ref: '#/$defs/node' }
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, next]))
    const subset = toSchemaSubset({ $defs: { node: { type: 'object', properties } }, ...next })
    assert.ok(JSON.stringify(subset).length < 500_000)
  })

  it('has other words for constants, alternatives and null', () => {
    const cases: [unknown, unknown][] = [
      [{ const: 'a' }, { type: 'STRING', enum: ['a'] }],
      [{ type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
      [{ type: ['string', 'number'] }, { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] }],
      [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'STRING', nullable: true }],
      [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] }],
      [{ allOf: [{ type: 'object' }, { required: ['a'] }] }, { type: 'OBJECT', required: ['a'] }],
    ]
    for (const [schema, subset] of cases) assert.deepEqual(toSchemaSubset(schema), subset)
  })

  it('is undone by toJsonSchema for what the subset can say', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: ['integer', 'null'] }, b: { type: 'array', items: { type: 'string', enum: ['x'] } } },
      required: ['a'],
    }
    assert.deepEqual(toJsonSchema(toSchemaSubset(schema)), schema)
  })
})

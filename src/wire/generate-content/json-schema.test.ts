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

  it('lets null in wherever it would be kept out: by a list of values, by alternatives', () => {
    assert.deepEqual(toJsonSchema({ type: 'STRING', enum: ['a'], nullable: true }), {
      type: ['string', 'null'],
      enum: ['a', null],
    })
    assert.deepEqual(toJsonSchema({ anyOf: [{ type: 'STRING' }], nullable: true }), {
      anyOf: [{ type: 'string' }, { type: 'null' }],
    })
  })
})

/** Frozen as deep as it goes: whoever changes it throws. */
function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen)
  return value
}

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
      [{ const: null }, { nullable: true }],
      [{ const: 3 }, { type: 'NUMBER', description: 'One of 3' }],
      [
        { type: 'integer', description: 'Size', enum: [1, 2, null] },
        { type: 'INTEGER', description: 'Size (One of 1, 2)', nullable: true },
      ],
    ]
    for (const [schema, subset] of cases) assert.deepEqual(toSchemaSubset(schema), subset)
  })

  it('makes one of parts of a whole, references among them', () => {
    const schema = {
      $defs: { named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
      allOf: [{ $ref: '#/$defs/named' }, { properties: { age: { type: 'integer' } }, required: ['age', 'lost'] }],
    }
    assert.deepEqual(toSchemaSubset(schema), {
      type: 'OBJECT',
      properties: { name: { type: 'STRING' }, age: { type: 'INTEGER' } },
      required: ['name', 'age'],
    })
  })

  it('writes out a reference that may be null, as generators of schemas put optional objects', () => {
    const schema = {
      $defs: { city: { type: 'object', properties: { name: { type: 'string' } } } },
      anyOf: [{ $ref: '#/$defs/city' }, { type: 'null' }],
    }
    const city = { type: 'OBJECT', properties: { name: { type: 'STRING' } } }
    assert.deepEqual(toSchemaSubset(schema), { ...city, nullable: true })
    const cyclic = { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } }, $ref: '#/$defs/a' }
    assert.deepEqual(toSchemaSubset(cyclic), { type: 'OBJECT' })
    const whole = { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }, { type: 'object' }] } }, $ref: '#/$defs/a' }
    assert.equal((toSchemaSubset(whole) as { type: unknown }).type, 'OBJECT')
  })

  it('says nothing that the subset refuses: lists without items, formats that it does not know', () => {
    assert.deepEqual(toSchemaSubset({ type: 'array', items: { type: 'array' } }), {
      type: 'ARRAY',
      items: { type: 'ARRAY', items: { type: 'STRING' } },
    })
    assert.deepEqual(toSchemaSubset({ type: 'string', format: 'uuid' }), { type: 'STRING' })
    assert.deepEqual(toSchemaSubset({ type: 'string', format: 'date-time' }), { type: 'STRING', format: 'date-time' })
  })

  it('changes nothing of the schema that it is given', () => {
    const schema = deepFrozen({
      $defs: { a: { type: 'object', properties: { x: { const: 1 } } } },
      type: 'object',
      properties: { a: { allOf: [{ $ref: '#/$defs/a' }] }, b: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    })
    assert.doesNotThrow(() => toSchemaSubset(schema))
    assert.doesNotThrow(() => toJsonSchema(deepFrozen(toSchemaSubset(schema))))
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

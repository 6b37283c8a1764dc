import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TSchema, Type } from 'typebox'
import { Fault } from './fault.ts'
import { type Validator, validator, violations } from './validate.ts'

const closed = { additionalProperties: false }

/** What a caller is told of a value under `field`. */
function told(schema: TSchema, value: unknown): string {
  const validate: Validator<unknown> = validator(Type.Object({ field: schema }))
  try {
    validate(value === undefined ? {} : { field: value })
  } catch (error) {
    assert.ok(error instanceof Fault)
    assert.equal(error.code, 'invalid_request')
    return error.message
  }
  return ''
}

describe('validator', () => {
  it('lets a fitting value pass', () => {
    assert.equal(told(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]), 5), '')
  })

  it('says in one sentence what is wrong with which field', () => {
    const cases: [TSchema, unknown, string][] = [
      [Type.String(), undefined, '`field` is required.'],
      [Type.String(), 5, '`field` must be a string.'],
      [Type.Integer(), 'x', '`field` must be an integer.'],
      [Type.String({ minLength: 1 }), '', '`field` must not be empty.'],
      [Type.String({ minLength: 16 }), 'x', '`field` is too short.'],
      [Type.Array(Type.String(), { minItems: 1 }), [], '`field` must not be empty.'],
      [Type.Array(Type.String(), { minItems: 2 }), ['a'], '`field` has too few items.'],
      [Type.Array(Type.String(), { maxItems: 2 }), ['a', 'b', 'c'], '`field` must have at most 2 items.'],
      [Type.Array(Type.String()), ['a', 5], '`field[1]` must be a string.'],
      [Type.String({ maxLength: 2 }), 'abc', '`field` must have at most 2 characters.'],
      [Type.Enum(['a', 'b', 'c']), 'd', '`field` must be one of "a", "b" or "c".'],
      [Type.Object({ a: Type.Object({ b: Type.String() }) }), { a: {} }, '`field.a.b` is required.'],
      [Type.Object({}, closed), { x: 1 }, '`field.x` is not a known field.'],
      [Type.Object({ 'a/b~c': Type.String() }), { 'a/b~c': 1 }, '`field.a/b~c` must be a string.'],
    ]
    for (const [schema, value, message] of cases) assert.equal(told(schema, value), message)
  })

  it('names all types of a union that nothing fits', () => {
    const schema = Type.Union([Type.String(), Type.Integer(), Type.Array(Type.String()), Type.Null()])
    assert.equal(told(schema, true), '`field` must be a string, an integer, an array or null.')
  })

  it('says of a value of the right type what else is wrong with it, not what else the field could be', () => {
    const bounded = Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])
    assert.equal(told(bounded, 3), '`field` must be <= 2.')
    assert.equal(told(bounded, -1), '`field` must be >= 0.')
    const filled = Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })])
    assert.equal(told(filled, []), '`field` must not be empty.')
    assert.equal(told(filled, ''), '`field` must not be empty.')
    assert.equal(told(Type.Union([Type.Enum(['a', 'b']), Type.Null()]), 'c'), '`field` must be one of "a" or "b".')
  })

  it('follows the branch of a union that got furthest', () => {
    const schema = Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))])
    assert.equal(told(schema, [{ type: 'x' }, {}]), '`field[1].type` is required.')
  })

  it('speaks of the body when it is no object at all', () => {
    const validate: Validator<unknown> = validator(Type.Object({}))
    assert.throws(
      () => validate([]),
      (error: unknown) => error instanceof Fault && error.message === 'The body must be an object.' && !error.param,
    )
  })
})

describe('violations', () => {
  it('lists everything that is wrong, one reason a field, with its path', () => {
    const schema = Type.Object({ a: Type.Array(Type.Object({ b: Type.Integer() }, closed)), c: Type.String() }, closed)
    const found = violations(schema, { a: [{ b: 1 }, { b: 'x', d: 1 }], e: 1 })
    assert.deepEqual(found.map(({ path, field, problem }) => ({ path, field, problem })).toSorted(byField), [
      { path: ['a', 1, 'b'], field: 'a[1].b', problem: 'must be an integer' },
      { path: ['a', 1, 'd'], field: 'a[1].d', problem: 'is not a known field' },
      { path: ['c'], field: 'c', problem: 'is required' },
      { path: ['e'], field: 'e', problem: 'is not a known field' },
    ])
  })

  it('is empty for a value that fits', () => {
    assert.deepEqual(violations(Type.Object({ a: Type.Optional(Type.String()) }), {}), [])
  })
})

function byField(a: { field: string }, b: { field: string }): number {
  return a.field < b.field ? -1 : 1
}

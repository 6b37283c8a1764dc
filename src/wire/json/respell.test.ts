import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Respelling } from '#core/work.ts'
import { printedObject } from '../../../test/support/arbitrary-json.ts'
import { applyEdits } from './edit.ts'
import { refusedMembers, respell, respellMembers } from './respell.ts'

const NAMES = { max_completion_tokens: 'max_tokens', seed: 'random_seed', store: null }

function edited(text: string, names: Respelling = NAMES): string {
  const bytes = Buffer.from(text)
  return applyEdits(bytes, respellMembers(bytes, names)).toString()
}

describe('respellMembers', () => {
  it('gives members the names of the upstream, leaves out what it refuses, and keeps every other byte', () => {
    assert.equal(
      edited('{ "store" : true, "seed" : 1.0,\n  "x": [ 1e2 ], "max_completion_tokens":5 }'),
      '{ "random_seed":1.0,\n  "x": [ 1e2 ], "max_tokens":5 }',
    )
    assert.equal(edited('{"store":false}'), '{}')
    assert.equal(edited('{"a":1,"store":false}'), '{"a":1}')
  })

  it('never writes a name twice', () => {
    assert.equal(edited('{"max_tokens":1,"max_completion_tokens":2}'), '{"max_tokens":2}')
    assert.equal(edited('{"max_completion_tokens":2,"max_tokens":1}'), '{"max_tokens":2}')
    assert.equal(edited('{"a":1,"b":2}', { a: 'c', b: 'c' }), '{"c":2}')
  })

  it('says the same of bytes as of what they mean', () => {
    const names = fc.dictionary(fc.string({ maxLength: 2 }), fc.option(fc.string({ minLength: 1, maxLength: 2 })))
    fc.assert(
      fc.property(printedObject, names, ({ text }, respelling) => {
        assert.deepEqual(JSON.parse(edited(text, respelling)), respell(JSON.parse(text), respelling))
      }),
    )
  })
})

describe('refusedMembers', () => {
  it('names what was given and is left out', () => {
    assert.deepEqual(refusedMembers({ store: true, seed: 1 }, NAMES), ['store'])
    assert.deepEqual(refusedMembers({ store: null }, NAMES), [])
  })
})

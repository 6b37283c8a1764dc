import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { joinObjects } from './join.ts'

const members = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 })

describe('joinObjects', () => {
  it('keeps the members of both, in their order', () => {
    assert.equal(joinObjects('{"a":1,"b":{}}', '{"c":[]}'), '{"a":1,"b":{},"c":[]}')
  })

  it('is what writing both as one object would be', () => {
    fc.assert(
      fc.property(members, members, (first, second) => {
        const joined = JSON.parse(joinObjects(JSON.stringify(first), JSON.stringify(second)))
        assert.deepEqual(joined, JSON.parse(JSON.stringify({ ...first, ...second })))
      }),
    )
  })
})

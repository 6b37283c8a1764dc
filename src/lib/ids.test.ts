import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isId, newId, newTimedId, timeOfId } from './ids.ts'

describe('newId', () => {
  it('tells by its prefix what it names, and is different every time', () => {
    assert.match(newId('req'), /^req_[0-9A-Za-z]{24}$/)
    assert.match(newId('btx'), /^btx_[0-9A-Za-z]{24}$/)
    assert.notEqual(newId('req'), newId('req'))
  })
})

describe('isId', () => {
  it('is true of every id of that prefix, and false of what no id can be', () => {
    assert.ok(isId('key', newId('key')))
    for (const text of [newId('org'), 'key_', 'key', '', 'key_a b', 'key_\0', 'key_é', `key_${'a'.repeat(65)}`]) {
      assert.ok(!isId('key', text), text)
    }
  })
})

describe('an id with a time', () => {
  it('looks like any other, tells when it was made and sorts by it', () => {
    const times = [0, 1_700_000_000_000, 1_700_000_000_001, Date.parse('2500-01-01')]
    const ids = times.map(timeMs => newTimedId('req', timeMs))
    for (const id of ids) assert.match(id, /^req_[0-9A-Za-z]{24}$/)
    assert.deepEqual(ids.map(timeOfId), times)
    assert.deepEqual(ids.toSorted(), ids)
    assert.notEqual(newTimedId('req', 5), newTimedId('req', 5))
  })
})

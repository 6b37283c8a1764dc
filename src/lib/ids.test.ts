import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isId, newId } from './ids.ts'

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

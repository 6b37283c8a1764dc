import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newId } from './ids.ts'

describe('newId', () => {
  it('tells by its prefix what it names, and is different every time', () => {
    assert.match(newId('req'), /^req_[0-9A-Za-z]{24}$/)
    assert.match(newId('btx'), /^btx_[0-9A-Za-z]{24}$/)
    assert.notEqual(newId('req'), newId('req'))
  })
})

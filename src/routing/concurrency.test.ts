import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Concurrency } from './concurrency.ts'

function busy(requests: number): Concurrency {
  const concurrency = new Concurrency()
  for (let i = 0; i < requests; i++) concurrency.begin()
  return concurrency
}

describe('what an upstream takes at a time', () => {
  it('has no limit until the upstream says that it is too much', () => {
    const concurrency = busy(10_000)
    assert.equal(concurrency.isFull, false)
    concurrency.overloaded(0)
    assert.equal(concurrency.limit, 8_000)
    assert.equal(concurrency.isFull, true)
  })

  it('shrinks once for requests that fail together, and never below four', () => {
    const concurrency = busy(10)
    for (let i = 0; i < 10; i++) concurrency.overloaded(i)
    assert.equal(concurrency.limit, 8)
    for (let i = 1; i < 20; i++) concurrency.overloaded(i * 1_000)
    assert.equal(concurrency.limit, 4)
  })

  it('grows by what succeeds while it is put to use', () => {
    const concurrency = busy(10)
    concurrency.overloaded(0)
    for (let i = 0; i < 10; i++) concurrency.succeeded()
    assert.equal(concurrency.limit, 18)
    for (let i = 0; i < 10; i++) concurrency.end()
    concurrency.succeeded()
    assert.equal(concurrency.limit, 18, 'nothing under way proves nothing')
  })
})

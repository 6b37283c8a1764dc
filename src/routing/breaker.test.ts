import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Breaker } from './breaker.ts'

const RULES = {
  consecutiveMax: 5,
  share: { requestsMin: 10, windowMs: 30_000 },
  restFirstMs: 5_000,
  restMaxMs: 30_000,
}
const CLOSED = 0

function opened(nowMs = 0): Breaker {
  const breaker = new Breaker(RULES)
  for (let i = 0; i < 5; i++) breaker.failed(nowMs, CLOSED)
  return breaker
}

describe('a breaker', () => {
  it('opens at the fifth failure in a row, and not before', () => {
    const breaker = new Breaker(RULES)
    for (let i = 0; i < 4; i++) breaker.failed(0, CLOSED)
    breaker.succeeded(0, CLOSED)
    for (let i = 0; i < 4; i++) breaker.failed(0, CLOSED)
    assert.equal(breaker.state(0), 'closed')
    breaker.failed(0, CLOSED)
    assert.equal(breaker.state(0), 'open')
    assert.equal(breaker.readyAtMs(0), 5_000)
  })

  it('opens when more than half of ten requests within half a minute failed', () => {
    const run = (verdicts: string, stepMs: number): Breaker => {
      const breaker = new Breaker(RULES)
      for (const [i, verdict] of [...verdicts].entries()) {
        if (verdict === '+') breaker.succeeded(i * stepMs, CLOSED)
        else breaker.failed(i * stepMs, CLOSED)
      }
      return breaker
    }
    assert.equal(run('--+--+--+', 100).state(1_000), 'closed', 'nine requests')
    assert.equal(run('+-+-+-+-+-', 100).state(1_000), 'closed', 'half of them')
    assert.equal(run('+--+--+---', 100).state(1_000), 'open')
    assert.equal(run('+--+--+---', 6_000).state(60_000), 'closed', 'over a minute')
  })

  it('lets one probe through when it has rested, and others only when that has closed it', () => {
    const breaker = opened()
    assert.equal(breaker.state(5_000), 'half-open')
    assert.equal(breaker.readyAtMs(5_000), 5_000)
    const probe = breaker.begin()
    assert.ok(breaker.readyAtMs(5_000) > 5_000)
    breaker.succeeded(5_100, probe)
    assert.equal(breaker.state(5_100), 'closed')
    assert.equal(breaker.readyAtMs(5_100), 5_100)
  })

  it('rests longer after each probe that fails, and half a minute at most', () => {
    const breaker = opened()
    let nowMs = 0
    const rests: number[] = []
    for (let i = 0; i < 5; i++) {
      rests.push(breaker.readyAtMs(nowMs) - nowMs)
      nowMs = breaker.readyAtMs(nowMs)
      breaker.failed(nowMs, breaker.begin())
    }
    assert.deepEqual(rests, [5_000, 10_000, 20_000, 30_000, 30_000])
  })

  it('is not moved by what began before it opened', () => {
    const breaker = opened()
    breaker.succeeded(1, CLOSED)
    breaker.failed(2, CLOSED)
    assert.equal(breaker.state(2), 'open')
    assert.equal(breaker.readyAtMs(2), 5_000)
  })

  it('is probed again when a probe ends without a verdict', () => {
    const breaker = opened()
    breaker.ended(breaker.begin())
    assert.equal(breaker.readyAtMs(5_000), 5_000)
  })

  it('counts a stream that broke off once, and as a failure', () => {
    const breaker = new Breaker(RULES)
    for (let i = 0; i < 10; i++) {
      assert.equal(breaker.state(i), 'closed')
      breaker.succeeded(i, CLOSED)
      breaker.failed(i, CLOSED, { isSecond: true })
    }
    assert.equal(breaker.state(10), 'open')
  })

  it('may be probed early, but not again and again', () => {
    const breaker = opened()
    assert.equal(breaker.mayProbeEarly(500, 1_000), false)
    assert.equal(breaker.mayProbeEarly(1_000, 1_000), true)
    breaker.failed(1_100, breaker.begin())
    assert.equal(breaker.mayProbeEarly(2_000, 1_000), false)
    assert.equal(breaker.mayProbeEarly(2_100, 1_000), true)
  })
})

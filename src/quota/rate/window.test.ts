import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Window } from './window.ts'

const WINDOW_MS = 60_000

/** Sends at `timesMs`, which rise. @returns the times at which a request was admitted */
function admissions(limit: number, timesMs: readonly number[]): number[] {
  const window = new Window(WINDOW_MS)
  return timesMs.filter(nowMs => {
    const isFree = window.used(nowMs) < limit
    if (isFree) window.admit(nowMs)
    else window.refuse(limit, nowMs)
    return isFree
  })
}

/** The most that lies in any window of time, wherever it begins. */
function mostInAWindow(timesMs: readonly number[]): number {
  let first = 0
  return timesMs.reduce((most, timeMs, index) => {
    while ((timesMs[first] as number) <= timeMs - WINDOW_MS) first += 1
    return Math.max(most, index - first + 1)
  }, 0)
}

describe('a window of requests', () => {
  const schedule = fc
    .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 90_000 })), {
      minLength: 1,
      maxLength: 400,
    })
    .map(pauses => {
      let nowMs = 0
      return pauses.map(pauseMs => (nowMs += pauseMs))
    })

  it('never holds more than the limit, wherever a minute begins and however requests come', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), schedule, (limit, timesMs) => {
        assert.ok(mostInAWindow(admissions(limit, timesMs)) <= limit)
      }),
    )
  })

  it('refuses nobody while a minute holds less than the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), schedule, (limit, timesMs) => {
        const admitted = admissions(limit, timesMs)
        const refused = timesMs.filter(timeMs => !admitted.includes(timeMs))
        for (const timeMs of refused) {
          const before = admitted.filter(each => each > timeMs - WINDOW_MS && each <= timeMs)
          assert.equal(before.length, limit)
        }
      }),
    )
  })

  it('admits the whole limit at once, and again when a minute has passed', () => {
    const all = (timeMs: number) => Array.from({ length: 60 }, () => timeMs)
    assert.equal(admissions(50, [...all(0), ...all(59_999)]).length, 50)
    assert.equal(admissions(50, [...all(0), ...all(60_000)]).length, 100)
  })

  it('under twice the load lets exactly the limit pass in every minute', () => {
    const limit = 1_000
    const timesMs = Array.from({ length: 20 * limit }, (_, index) => (index * WINDOW_MS) / (2 * limit))
    const admitted = admissions(limit, timesMs)
    assert.equal(mostInAWindow(admitted), limit)
    for (let fromMs = 0; fromMs <= 540_000; fromMs += 1_000) {
      const passed = admitted.filter(timeMs => timeMs >= fromMs && timeMs < fromMs + WINDOW_MS).length
      assert.ok(Math.abs(passed - limit) <= limit * 0.005, `${passed} in the minute from ${fromMs} ms`)
    }
  })

  it('keeps what was admitted when the limit changes', () => {
    const window = new Window(WINDOW_MS)
    for (let index = 0; index < 10; index++) window.admit(index * 1_000)
    assert.equal(window.used(10_000), 10)
    // Down to 4: six must be forgotten before the first slot is free.
    assert.equal(window.refuse(4, 10_000), 56)
    assert.equal(window.used(66_000), 3)
  })

  it('tells the first refused when the first slot is free, the second when the second is, and all within a minute', () => {
    const window = new Window(WINDOW_MS)
    for (const timeMs of [0, 10_000, 20_000]) window.admit(timeMs)
    assert.deepEqual(
      Array.from({ length: 5 }, () => window.refuse(3, 30_000)),
      [30, 40, 50, 60, 60],
    )
  })

  it('makes no promise of what a limit of nothing would never keep', () => {
    assert.equal(new Window(WINDOW_MS).refuse(0, 0), 60)
  })

  it('is idle, and can be forgotten, when nothing counts any more', () => {
    const window = new Window(WINDOW_MS)
    window.admit(0)
    assert.equal(window.isIdle(59_999), false)
    assert.equal(window.isIdle(60_000), true)
  })
})

describe('Retry-After', () => {
  /** Clients that each send one request, and come back exactly when they are told. @returns how often one was refused */
  function obey(limit: number, arrivalsMs: readonly number[]): { returns: number; refusedReturns: number } {
    const window = new Window(WINDOW_MS)
    const waiting = arrivalsMs.map(timeMs => ({ timeMs, isBack: false }))
    let returns = 0
    let refusedReturns = 0
    while (waiting.length > 0) {
      waiting.sort((a, b) => b.timeMs - a.timeMs)
      const { timeMs, isBack } = waiting.pop() as { timeMs: number; isBack: boolean }
      const isFree = window.used(timeMs) < limit
      returns += Number(isBack)
      if (isFree) window.admit(timeMs)
      else {
        refusedReturns += Number(isBack)
        waiting.push({ timeMs: timeMs + window.refuse(limit, timeMs) * 1_000, isBack: true })
      }
    }
    return { returns, refusedReturns }
  }

  it('is honest to 99 of 100 of those who wait exactly so long, when a crowd comes at once', () => {
    const { returns, refusedReturns } = obey(
      1_000,
      Array.from({ length: 1_900 }, () => 0),
    )
    assert.ok(returns >= 900)
    assert.ok(refusedReturns <= returns * 0.01, `${refusedReturns} of ${returns}`)
  })

  it('is honest while others go on sending what the limit has room for', () => {
    const crowd = Array.from({ length: 1_600 }, (_, index) => index * 10)
    const others = Array.from({ length: 1_000 }, (_, index) => 60_000 + index * 120)
    const { returns, refusedReturns } = obey(1_000, [...crowd, ...others])
    assert.ok(returns >= 600)
    assert.ok(refusedReturns <= returns * 0.01, `${refusedReturns} of ${returns}`)
  })
})

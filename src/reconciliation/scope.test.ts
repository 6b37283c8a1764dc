import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { INTERVAL_MS, recentScope, SLOTS, wholeDays } from './scope.ts'

const at = (text: string) => new Date(`${text}Z`)

describe('what a check reads', () => {
  it('is the hours that have closed and settled since the last one', () => {
    const scope = recentScope({
      now: at('2026-11-21T12:11:00'),
      firstRowAt: at('2026-11-21T11:30:00'),
      hoursCheckedTill: at('2026-11-21T11:00:00'),
    })
    assert.deepEqual(scope.hours[0], { from: at('2026-11-21T11:00:00'), till: at('2026-11-21T12:00:00') })
    assert.deepEqual(scope.hoursCheckedTill, at('2026-11-21T12:00:00'))
  })

  it('leaves an hour that has just closed to the next check', () => {
    const history = { firstRowAt: at('2026-11-21T11:30:00'), hoursCheckedTill: at('2026-11-21T11:00:00') }
    assert.deepEqual(recentScope({ now: at('2026-11-21T12:09:00'), ...history }).hours, [])
  })

  it('is no more than a day after an outage', () => {
    const history = { firstRowAt: at('2026-01-01T00:00:00'), hoursCheckedTill: at('2026-11-01T00:00:00') }
    const [closed] = recentScope({ now: at('2026-11-21T12:30:00'), ...history }).hours
    assert.deepEqual(closed, { from: at('2026-11-20T12:00:00'), till: at('2026-11-21T12:00:00') })
  })

  it('comes to every past hour and every subject in turn', () => {
    const now = at('2026-11-21T12:30:00').getTime()
    const history = { firstRowAt: at('2026-11-19T12:10:00'), hoursCheckedTill: at('2026-11-21T14:00:00') }
    const turns = Array.from({ length: SLOTS }, (_, i) =>
      recentScope({ now: new Date(now + i * INTERVAL_MS), ...history }),
    )
    assert.equal(new Set(turns.map(({ slot }) => slot)).size, SLOTS)
    const hours = new Set(turns.map(scope => scope.hours.at(-1)?.from.toISOString()))
    for (
      let hour = at('2026-11-19T12:00:00').getTime();
      hour < at('2026-11-21T12:00:00').getTime();
      hour += 3_600_000
    ) {
      assert.ok(hours.has(new Date(hour).toISOString()), new Date(hour).toISOString())
    }
  })

  it('compares days whole', () => {
    const hours = { from: at('2026-11-20T23:00:00'), till: at('2026-11-21T01:00:00') }
    assert.deepEqual(wholeDays(hours), { from: at('2026-11-20T00:00:00'), till: at('2026-11-22T00:00:00') })
  })
})

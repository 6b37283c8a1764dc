import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cutSpan, type Piece } from './span.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WIDTHS: Readonly<Record<Piece['source'], number>> = { daily: DAY_MS, hourly: HOUR_MS, events: 1 }

const at = (text: string) => Date.parse(`2026-${text}Z`)

describe('cutSpan', () => {
  it('reads whole days by the day, whole hours at their edges by the hour, and the rest row by row', () => {
    assert.deepEqual(cutSpan({ from: at('01-01T22:30'), to: at('01-04T01:15') }), [
      { source: 'events', from: at('01-01T22:30'), to: at('01-01T23:00') },
      { source: 'hourly', from: at('01-01T23:00'), to: at('01-02T00:00') },
      { source: 'daily', from: at('01-02T00:00'), to: at('01-04T00:00') },
      { source: 'hourly', from: at('01-04T00:00'), to: at('01-04T01:00') },
      { source: 'events', from: at('01-04T01:00'), to: at('01-04T01:15') },
    ])
  })

  it('reads row by row what lies within an hour', () => {
    const span = { from: at('01-01T10:10'), to: at('01-01T10:50') }
    assert.deepEqual(cutSpan(span), [{ source: 'events', ...span }])
  })

  it('reads one piece of a span that is exactly a day', () => {
    const span = { from: at('01-01T00:00'), to: at('01-02T00:00') }
    assert.deepEqual(cutSpan(span), [{ source: 'daily', ...span }])
  })

  it('reads all days when there is no bound', () => {
    const all = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
    assert.deepEqual(cutSpan(all), [{ source: 'daily', ...all }])
    assert.deepEqual(cutSpan({ ...all, to: at('01-02T00:30') }), [
      { source: 'daily', from: Number.NEGATIVE_INFINITY, to: at('01-02T00:00') },
      { source: 'events', from: at('01-02T00:00'), to: at('01-02T00:30') },
    ])
    assert.deepEqual(cutSpan({ ...all, from: at('01-02T23:00') }), [
      { source: 'hourly', from: at('01-02T23:00'), to: at('01-03T00:00') },
      { source: 'daily', from: at('01-03T00:00'), to: Number.POSITIVE_INFINITY },
    ])
  })

  it('has nothing to read of an empty or a turned span', () => {
    assert.deepEqual(cutSpan({ from: 5, to: 5 }), [])
    assert.deepEqual(cutSpan({ from: 6, to: 5 }), [])
  })

  it('covers any span exactly, in order and without overlap, in aligned pieces, with at most two hours of rows', () => {
    const bound = fc.oneof(
      fc.integer({ min: at('01-01T00:00'), max: at('01-20T00:00') }),
      fc.integer({ min: -50, max: 50 }).map(hours => hours * HOUR_MS),
      fc.integer({ min: -DAY_MS, max: DAY_MS }),
      fc.constantFrom(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
    )
    fc.assert(
      fc.property(bound, bound, (a, b) => {
        fc.pre(a < b)
        const pieces = cutSpan({ from: a, to: b })
        assert.equal(pieces[0]?.from, a)
        assert.equal(pieces.at(-1)?.to, b)
        for (const [i, { from, to, source }] of pieces.entries()) {
          assert.ok(from < to)
          if (i > 0) assert.ok(pieces[i - 1]?.to === from)
          for (const edge of [from, to]) {
            assert.ok(!Number.isFinite(edge) || Math.abs(edge % WIDTHS[source]) === 0, `${source} ${edge}`)
          }
        }
        const rows = pieces.filter(({ source }) => source === 'events')
        assert.ok(rows.reduce((sum, { from, to }) => sum + to - from, 0) < 2 * HOUR_MS)
        assert.ok(pieces.length <= 5)
      }),
      { numRuns: 1000 },
    )
  })
})

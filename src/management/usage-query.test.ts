import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { decodeUsageQuery } from './usage-query.ts'

function decode(query: string): ReturnType<typeof decodeUsageQuery> {
  return decodeUsageQuery(new URLSearchParams(query))
}

function refusal(query: string): Fault {
  try {
    decode(query)
  } catch (error) {
    assert.ok(error instanceof Fault, String(error))
    return error
  }
  assert.fail(`"${query}" was accepted`)
}

describe('the query of the usage report', () => {
  it('is the first fifty requests of all time unless it says otherwise', () => {
    assert.deepEqual(decode(''), {
      page: 1,
      limit: 50,
      model: undefined,
      modelVendor: undefined,
      scene: undefined,
      accessChannel: undefined,
      from: Number.NEGATIVE_INFINITY,
      to: Number.POSITIVE_INFINITY,
    })
  })

  it('takes filters as they are written', () => {
    const { model, modelVendor, scene, accessChannel } = decode(
      'model=gpt%204&modelVendor=acme&scene=3d&accessChannel=byok',
    )
    assert.deepEqual([model, modelVendor, scene, accessChannel], ['gpt 4', 'acme', '3d', 'byok'])
  })

  it('names the parameter that is wrong and what it must be', () => {
    const cases: [query: string, param: string, message: RegExp][] = [
      ['page=0', 'page', /at least 1/],
      ['page=-1', 'page', /at least 1/],
      ['page=1.5', 'page', /integer/],
      ['page=', 'page', /integer/],
      ['page=9999999999999999', 'page', /integer/],
      ['limit=0', 'limit', /1 to 100/],
      ['limit=101', 'limit', /1 to 100/],
      ['limit=ten', 'limit', /1 to 100/],
      [`model=${'x'.repeat(101)}`, 'model', /100 characters/],
      [`modelVendor=${'x'.repeat(101)}`, 'modelVendor', /100 characters/],
      ['scene=cooking', 'scene', /chat, image, audio/],
      ['accessChannel=mine', 'accessChannel', /platform, byok/],
      ['startDate=yesterday', 'startDate', /RFC 3339/],
      ['startDate=2026-02-30', 'startDate', /RFC 3339/],
      ['startDate=2026-13-01', 'startDate', /RFC 3339/],
      ['startDate=2026-01-01T00:00:00', 'startDate', /time zone/],
      ['endDate=2026-01-01T24:00:00Z', 'endDate', /RFC 3339/],
      ['endDate=2026-01-01T10:00:00%2B24:00', 'endDate', /RFC 3339/],
      ['endDate=1767225600', 'endDate', /RFC 3339/],
      ['startDate=2026-01-02&endDate=2026-01-01', 'startDate', /earlier than or equal/],
    ]
    for (const [query, param, message] of cases) {
      const fault = refusal(query)
      assert.equal(fault.code, 'invalid_request', query)
      assert.equal(fault.param, param, query)
      assert.match(fault.message, message, query)
    }
  })

  it('includes both bounds: a date is its whole day in UTC, a time its millisecond', () => {
    const bounds = (query: string) => {
      const { from, to } = decode(query)
      return [new Date(from).toISOString(), new Date(to).toISOString()]
    }
    assert.deepEqual(bounds('startDate=2026-01-31&endDate=2026-01-31'), [
      '2026-01-31T00:00:00.000Z',
      '2026-02-01T00:00:00.000Z',
    ])
    assert.deepEqual(bounds('startDate=2024-02-29T23:00:00-05:30&endDate=2024-03-01t04:30:00.000z'), [
      '2024-03-01T04:30:00.000Z',
      '2024-03-01T04:30:00.001Z',
    ])
    // A plus sign that was not encoded arrives as a space.
    assert.equal(refusal('startDate=2026-01-01T00:00:00+02:00').param, 'startDate')
    assert.equal(bounds('startDate=2026-01-01T00:00:00%2B02:00&endDate=2026-01-01')[0], '2025-12-31T22:00:00.000Z')
  })

  it('knows no currency but USD', () => {
    assert.equal(decode('currency=usd').page, 1)
    for (const query of ['currency=CNY', 'currency=cny', 'currency=', 'currency=CNY&page=0']) {
      const fault = refusal(query)
      assert.deepEqual([fault.code, fault.status, fault.param], ['currency_retired', 400, 'currency'])
    }
  })

  it('answers any query with a span of time or with a fault that names its parameter', () => {
    const names = [
      'page',
      'limit',
      'model',
      'modelVendor',
      'scene',
      'accessChannel',
      'startDate',
      'endDate',
      'currency',
    ]
    const value = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom('1', '100', 'chat', 'byok', '2026-01-01', '2026-01-01T00:00:00Z', '0000-01-01', '9999-12-31'),
      fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 5 }), pairs => {
        try {
          const { from, to, page, limit } = decodeUsageQuery(new URLSearchParams(pairs))
          assert.ok(from < to)
          assert.ok(Number.isSafeInteger(page * limit) && limit <= 100)
        } catch (error) {
          assert.ok(error instanceof Fault, String(error))
          assert.ok(names.includes(error.param ?? ''))
        }
      }),
      { numRuns: 500 },
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { itemPage } from './item-page.ts'

const items = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `item_${i}`, type: 'message' }))

const page = (count: number, query: Record<string, string> = {}) => itemPage(items(count), new URLSearchParams(query))

describe('itemPage', () => {
  it('begins with the last item and has twenty, unless it is told otherwise', () => {
    const { data, first_id, last_id, has_more } = page(21)
    assert.deepEqual([data.length, first_id, last_id, has_more], [20, 'item_20', 'item_1', true])
    assert.deepEqual(page(3, { order: 'asc', limit: '2' }).data, items(2))
    assert.equal(page(3, { limit: '3' }).has_more, false)
  })

  it('of an empty list names no items', () => {
    assert.deepEqual(page(0), { object: 'list', data: [], first_id: null, last_id: null, has_more: false })
  })

  it('gives every item once when the list is followed to its end, in either order', () => {
    fc.assert(
      fc.property(
        fc.nat(60),
        fc.integer({ min: 1, max: 25 }),
        fc.constantFrom('asc', 'desc'),
        (count, limit, order) => {
          const seen: string[] = []
          for (let after: string | null = ''; after !== null; ) {
            const query = { limit: String(limit), order, ...(after && { after }) }
            const { data, last_id, has_more } = page(count, query)
            seen.push(...data.map(({ id }) => id))
            after = has_more ? last_id : null
          }
          const ids = items(count).map(({ id }) => id)
          assert.deepEqual(seen, order === 'asc' ? ids : ids.toReversed())
        },
      ),
    )
  })

  it('refuses what it cannot mean, naming the parameter', () => {
    for (const [param, value] of [
      ['limit', '0'],
      ['limit', '101'],
      ['limit', 'x'],
      ['order', 'up'],
      ['after', 'item_9'],
    ] as const) {
      assert.throws(
        () => page(3, { [param]: value }),
        (error: unknown) => error instanceof Fault && error.code === 'invalid_request' && error.param === param,
      )
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { allocate } from './allocation.ts'

const amount = fc.bigInt({ min: 0n, max: 10n ** 18n })
const nodes = fc.integer({ min: 1, max: 50 })

describe('what a grant gives', () => {
  it('is never more than there is, and never negative', () => {
    fc.assert(
      fc.property(
        amount,
        amount,
        fc.bigInt(-(10n ** 15n), 10n ** 18n),
        nodes,
        (least, wanted, available, liveNodes) => {
          const granted = allocate({ least, wanted }, { available, liveNodes })
          assert.ok(granted >= 0n)
          assert.ok(granted === 0n || granted <= available)
        },
      ),
    )
  })

  it('lets one request pass wherever there is enough for one', () => {
    fc.assert(
      fc.property(amount, amount, amount, nodes, (least, wanted, available, liveNodes) => {
        fc.pre(available > 0n && available >= least)
        assert.ok(allocate({ least, wanted }, { available, liveNodes }) >= least)
      }),
    )
  })

  it('leaves as much for every other node as it takes, unless one request needs more', () => {
    fc.assert(
      fc.property(amount, amount, amount, nodes, (least, wanted, available, liveNodes) => {
        const granted = allocate({ least, wanted }, { available, liveNodes })
        fc.pre(granted > least)
        assert.ok(granted * BigInt(liveNodes) * 2n <= available)
      }),
    )
  })

  it('is what is of use while there is plenty', () => {
    assert.equal(allocate({ least: 1n, wanted: 10n }, { available: 1_000n, liveNodes: 3 }), 10n)
  })

  it('is a share of what is there when more would be of use', () => {
    assert.equal(allocate({ least: 1n, wanted: 500n }, { available: 600n, liveNodes: 3 }), 100n)
  })

  it('is what one request needs when a share is less', () => {
    assert.equal(allocate({ least: 7n, wanted: 500n }, { available: 12n, liveNodes: 3 }), 7n)
  })

  it('is nothing when there is too little for one request', () => {
    assert.equal(allocate({ least: 7n, wanted: 500n }, { available: 6n, liveNodes: 1 }), 0n)
    assert.equal(allocate({ least: 0n, wanted: 500n }, { available: -6n, liveNodes: 1 }), 0n)
  })
})

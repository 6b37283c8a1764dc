import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Hold } from './hold.ts'
import { Lease } from './lease.ts'

const SUBJECT = { kind: 'organization', id: 'org_1', organizationId: 'org_1' } as const

function leaseOf(granted: bigint): Lease {
  const lease = new Lease(SUBJECT)
  lease.renew(granted)
  return lease
}

/** What may happen to a lease, in any order. */
type Step =
  | { readonly kind: 'hold' | 'extend' | 'grant'; readonly amount: bigint }
  | { readonly kind: 'settle'; readonly share: number }
  | { readonly kind: 'release' | 'post' | 'return' | 'tick' }

const amount = fc.bigInt({ min: 1n, max: 1_000n })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('hold' as const, 'extend' as const, 'grant' as const), amount }),
  fc.record({ kind: fc.constant('settle' as const), share: fc.integer({ min: 0, max: 100 }) }),
  fc.record({ kind: fc.constantFrom('release' as const, 'post' as const, 'return' as const, 'tick' as const) }),
)

/** A lease beside the row that the database would have, and the money behind it. */
class World {
  readonly lease = new Lease(SUBJECT)
  readonly holds: Hold[] = []
  /** In the lease's row. */
  row = 0n
  granted = 0n
  returned = 0n
  settled = 0n
  posted = 0n

  take(next: Step): void {
    const { lease } = this
    if (next.kind === 'grant') {
      this.row += next.amount
      this.granted += next.amount
      lease.renew(this.row)
    } else if (next.kind === 'hold') {
      const hold = new Hold([lease])
      if (hold.tryAdd(next.amount)) this.holds.push(hold)
    } else if (next.kind === 'extend') this.holds[0]?.tryAdd(next.amount)
    else if (next.kind === 'settle') {
      const hold = this.holds.shift()
      const spent = ((hold?.amount ?? 0n) * BigInt(next.share)) / 100n
      this.settled += spent
      hold?.settle(spent)
      hold?.release()
    } else if (next.kind === 'release') this.holds.shift()?.[Symbol.dispose]()
    else if (next.kind === 'post') {
      this.row -= this.settled
      this.posted += this.settled
      lease.post(this.settled, this.row)
      this.settled = 0n
    } else if (next.kind === 'return') {
      const { surplus } = lease
      this.row -= surplus
      this.returned += surplus
      lease.withdraw(surplus)
    } else lease.tick()
  }
}

describe('a lease', () => {
  it('is conserved: what was granted is free, held, settled, posted or returned, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const world = new World()
        for (const next of steps) {
          world.take(next)
          const { lease } = world
          const held = world.holds.reduce((sum, hold) => sum + hold.amount, 0n)
          assert.equal(lease.held, held)
          assert.equal(lease.granted, world.row)
          assert.equal(lease.free + held + world.settled + world.posted + world.returned, world.granted)
          assert.ok(lease.free >= 0n && lease.held >= 0n && lease.granted >= 0n && lease.surplus >= 0n)
        }
      }),
    )
  })

  it('lets nobody hold what is not free', () => {
    const lease = leaseOf(10n)
    assert.equal(new Hold([lease]).tryAdd(6n), true)
    assert.equal(new Hold([lease]).tryAdd(6n), false)
    assert.equal(lease.free, 4n)
  })

  it('has back at once what a request did not use', () => {
    const lease = leaseOf(10n)
    const hold = new Hold([lease])
    hold.tryAdd(9n)
    hold.settle(2n)
    assert.equal(lease.free, 8n)
  })

  it('owes what a request did use beyond its hold', () => {
    const lease = leaseOf(10n)
    const hold = new Hold([lease])
    hold.tryAdd(10n)
    hold.settle(13n)
    assert.equal(lease.free, -3n)
  })

  it('may hear that spending was posted before it hears that it was made', () => {
    const lease = leaseOf(10n)
    const hold = new Hold([lease])
    hold.tryAdd(5n)
    lease.post(2n, 8n)
    assert.equal(lease.free, 5n)
    hold.settle(2n)
    assert.equal(lease.free, 8n)
  })

  it('keeps what the last two spans were in need of, and gives back the rest', () => {
    const lease = leaseOf(1_000n)
    const hold = new Hold([lease])
    hold.tryAdd(20n)
    hold.settle(10n)
    assert.equal(lease.surplus, 990n - 50n)
    lease.tick()
    assert.equal(lease.surplus, 990n - 50n)
    lease.tick()
    assert.equal(lease.surplus, 990n)
  })

  it('is forgotten only when nothing hangs on it', () => {
    const lease = leaseOf(0n)
    assert.ok(lease.isEmpty)
    lease.waiters += 1
    assert.ok(!lease.isEmpty)
  })
})

describe('a hold on two leases', () => {
  it('takes from both or from none', () => {
    const [rich, poor] = [leaseOf(10n), leaseOf(3n)]
    assert.equal(new Hold([rich, poor]).tryAdd(5n), false)
    assert.deepEqual([rich.free, poor.free], [10n, 3n])
    const hold = new Hold([rich, poor])
    assert.equal(hold.tryAdd(3n), true)
    hold.settle(1n)
    assert.deepEqual([rich.free, poor.free], [9n, 2n])
  })

  it('ends once', () => {
    const lease = leaseOf(10n)
    const hold = new Hold([lease])
    hold.tryAdd(5n)
    hold.settle(1n)
    hold.release()
    hold.settle(4n)
    assert.equal(lease.free, 9n)
    assert.equal(hold.tryAdd(50n), true, 'nothing is needed any more')
    assert.equal(lease.free, 9n)
  })
})

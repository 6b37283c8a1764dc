import { largerOf, type Picodollars } from '#core/money.ts'
import { Signal } from '#lib/signal.ts'
import type { Subject } from './subject.ts'

/**
 * One subject's lease as this node keeps it in memory.
 *
 *     granted = held + settled + free
 *
 * `granted` is the amount of the lease's row and is only ever set to what the database said. `held` belongs to requests
 * under way. `settled` has been spent and is not yet posted. What is left is free. Spending beyond a hold makes `free`
 * negative; the next grant fills it up.
 *
 * How much is of use follows from the recent past, which is counted in two spans of one `tick` each: the span before
 * and the one that runs.
 */
export class Lease {
  readonly subject: Subject
  /** Told when there may be more to take: a hold was settled or released, a grant came, another node gave back. */
  readonly changed = new Signal()
  /** The last grant was less than what would have been of use: asking ahead is of no use until the next tick. */
  isScarce = false
  /** Requests that wait for more of it. */
  waiters = 0
  /** How often other nodes have said that they gave back. */
  returnsHeard = 0
  #granted: Picodollars = 0n
  #held: Picodollars = 0n
  #settled: Picodollars = 0n
  #now = new Span()
  #before = new Span()

  constructor(subject: Subject) {
    this.subject = subject
  }

  get granted(): Picodollars {
    return this.#granted
  }

  get held(): Picodollars {
    return this.#held
  }

  get free(): Picodollars {
    return this.#granted - this.#held - this.#settled
  }

  /**
   * What should be free so that the requests of the next spans need not ask: as much as was spent in the last ones,
   * and the largest request twice, because its hold is larger than what it spends.
   */
  get reserve(): Picodollars {
    return this.#now.spent + this.#before.spent + largerOf(this.#now.largest, this.#before.largest) * 2n
  }

  /** Time to ask for more, before a request has to. */
  get isLow(): boolean {
    return this.free * 2n < this.reserve
  }

  /** What is free beyond all use. Twice the reserve may stay: what comes and goes every second is not given back. */
  get surplus(): Picodollars {
    const { free, reserve } = this
    return free > reserve * 2n ? free - reserve : 0n
  }

  /** Nothing is left in it, and nothing has happened lately: it can be forgotten. */
  get isEmpty(): boolean {
    const isOwed = this.#granted !== 0n || this.#held !== 0n || this.#settled !== 0n
    return !isOwed && this.waiters === 0 && this.reserve === 0n
  }

  hold(amount: Picodollars): void {
    this.#held += amount
    this.#now.largest = largerOf(amount, this.#now.largest)
  }

  release(amount: Picodollars): void {
    this.#held -= amount
    this.changed.fire()
  }

  /** A request that is under way needs more. It counts as spent, because it is so long before its request ends. */
  extend(amount: Picodollars): void {
    this.#held += amount
    this.#now.spent += amount
  }

  /** What was held, `extended` of it later on, has been spent, or part of it, or more. */
  settle(held: Picodollars, extended: Picodollars, spent: Picodollars): void {
    this.#held -= held
    this.#settled += spent
    this.#now.spent += largerOf(spent - extended, 0n)
    this.changed.fire()
  }

  /** `spent` has become rows of the database, or never will; the lease's row says `granted` now. */
  post(spent: Picodollars, granted: Picodollars): void {
    this.#settled -= spent
    this.renew(granted)
  }

  /** The lease's row says `granted`. */
  renew(granted: Picodollars): void {
    this.#granted = granted
    this.changed.fire()
  }

  /** Takes out what is about to be given back, before anyone else can have it. */
  withdraw(amount: Picodollars): void {
    this.#granted -= amount
  }

  /** A span of time has passed. */
  tick(): void {
    this.#before = this.#now
    this.#now = new Span()
    this.isScarce = false
  }
}

class Span {
  spent: Picodollars = 0n
  largest: Picodollars = 0n
}

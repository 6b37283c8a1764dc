import type { Picodollars } from '#core/money.ts'
import type { Lease } from './lease.ts'

/**
 * What one request may cost at most, taken out of the leases of all who pay for it. It ends once: settled with what the
 * request did cost, or released. Declared with `using`, it is released by whatever way its request ends.
 */
export class Hold implements Disposable {
  readonly leases: readonly Lease[]
  #amount: Picodollars = 0n
  #extended: Picodollars = 0n
  #isOpen = true

  constructor(leases: readonly Lease[]) {
    this.leases = leases
  }

  get amount(): Picodollars {
    return this.#amount
  }

  /** @returns whether every lease has so much */
  tryAdd(amount: Picodollars): boolean {
    // Its request has ended while it waited for more.
    if (!this.#isOpen) return true
    for (const lease of this.leases) if (lease.free < amount) return false
    if (this.#amount === 0n) for (const lease of this.leases) lease.hold(amount)
    else {
      for (const lease of this.leases) lease.extend(amount)
      this.#extended += amount
    }
    this.#amount += amount
    return true
  }

  /** The request did cost `spent`, which may be more than was held. */
  settle(spent: Picodollars): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const lease of this.leases) lease.settle(this.#amount, this.#extended, spent)
  }

  /** The request did cost nothing. */
  release(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const lease of this.leases) lease.release(this.#amount)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

import { type Claim, ownShare, saltOf } from './share.ts'
import { Window } from './window.ts'

/** A part of one subject's limit that this node has left to another. */
export interface Given {
  readonly borrower: string
  slots: number
  /** By the database's clock. */
  endsAtDatabaseMs: number
  /** When the last thing that the borrower may have let pass under it counts no more. */
  countsUntilMs: number
}

/** One subject on this node: what it was let do, and how much it may. */
export class Tally {
  readonly id: string
  readonly window: Window
  /** As it was last known; 0 before anyone has asked. */
  limit = 0
  given: readonly Given[] = []
  readonly #salt: number
  #lent = 0
  #borrowed = 0
  #borrowedUntilMs = Number.NEGATIVE_INFINITY

  constructor(id: string, windowMs: number) {
    this.id = id
    this.window = new Window(windowMs)
    this.#salt = saltOf(id)
  }

  own(claim: Claim): number {
    return ownShare(this.limit, claim, this.#salt)
  }

  /** Slots that others may use in this node's stead, or have used so lately that it counts. */
  get lent(): number {
    return this.#lent
  }

  borrowed(nowMs: number): number {
    return nowMs < this.#borrowedUntilMs ? this.#borrowed : 0
  }

  /** How many admissions may count at a time. */
  capacity(claim: Claim, nowMs: number): number {
    return Math.max(0, this.own(claim) - this.#lent + this.borrowed(nowMs))
  }

  /** @param untilMs when the first of the loans ends */
  borrow(slots: number, untilMs: number): void {
    this.#borrowed = slots
    this.#borrowedUntilMs = untilMs
  }

  /** Counts what is lent anew, after a change of `given` or of the time. */
  countLent(nowMs: number): void {
    if (this.given.length === 0) return
    this.given = this.given.filter(({ countsUntilMs }) => countsUntilMs > nowMs)
    this.#lent = this.given.reduce((sum, { slots }) => sum + slots, 0)
  }

  /** Whether what counts now would also have been let pass with this part. */
  fits(claim: Claim, nowMs: number): boolean {
    return this.window.used(nowMs) + this.#lent - this.borrowed(nowMs) <= this.own(claim)
  }

  isIdle(nowMs: number): boolean {
    return this.given.length === 0 && this.borrowed(nowMs) === 0 && this.window.isIdle(nowMs)
  }
}

import type { ClaimedPart, RateBoard } from './board.ts'
import { type Claim, claimable, SOLE_CLAIM } from './share.ts'

/** A node that has been silent for so many windows answers nobody any more: it could not tell callers apart. */
const SILENCE_WINDOWS = 5
/** What a node lent just before it left is used for one window, and counts for another. */
const AFTERMATH_WINDOWS = 2

export interface MembershipOptions {
  readonly board: RateBoard
  readonly nodeId: string
  readonly windowMs: number
  /** Processes that start together with this one, itself included: none of them takes what is the others'. */
  readonly siblings: number
  now(): number
  /** Whether all that was admitted and lent, and counts now, is within the part. */
  fits(claim: Claim): boolean
}

/**
 * This node's part of every limit. Parts are claimed in Postgres, one node at a time, and never add up to more than the
 * whole. A node that makes room for another uses its smaller part at once, but goes on claiming the larger one until
 * what it admitted and lent fits into the smaller; only then can another claim the rest. For a node that was asked for
 * little that is at once.
 */
export class Membership {
  readonly #options: MembershipOptions
  #claim: Claim = { ...SOLE_CLAIM, divisor: Number.POSITIVE_INFINITY }
  /** The part that others know of. */
  #published = Number.POSITIVE_INFINITY
  #heardAtMs = Number.NEGATIVE_INFINITY
  #inTouchSinceMs: number | undefined

  constructor(options: MembershipOptions) {
    this.#options = options
  }

  get claim(): Claim {
    return this.#claim
  }

  /** Others still have of what is this node's, or this node of what is others'. */
  get isMoving(): boolean {
    return this.#claim.divisor > this.#claim.nodes || this.#published !== this.#claim.divisor
  }

  /** Shows that this node lives, and claims what it should have. */
  async renew(): Promise<void> {
    const { board, nodeId, windowMs, now } = this.#options
    const startedAtMs = now()
    const terms = { nodeId, leftMs: AFTERMATH_WINDOWS * windowMs, silenceMs: this.#silenceMs(startedAtMs) }
    let next = { claim: this.#claim, published: this.#published }
    try {
      await board.claim(terms, others => {
        next = this.#decide(others)
        return next.published
      })
    } catch (error) {
      this.#inTouchSinceMs = undefined
      throw error
    }
    this.#inTouchSinceMs ??= startedAtMs
    this.#heardAtMs = startedAtMs
    this.#claim = next.claim
    this.#published = next.published
  }

  /** Time has passed: what was agreed upon with nodes that can no longer be heard is in doubt. */
  tick(): void {
    const { windowMs, now } = this.#options
    const isInDoubt = this.#claim.nodes > 1 && now() - this.#heardAtMs > windowMs
    if (isInDoubt) this.#claim = { ...this.#claim, rank: undefined }
  }

  #decide(others: readonly ClaimedPart[]): { claim: Claim; published: number } {
    const { nodeId, siblings, fits } = this.#options
    const divisors = others.map(({ divisor }) => divisor)
    const nodes = Math.max(others.length + 1, siblings)
    const claim = { divisor: claimable(divisors, siblings), nodes, rank: undefined }
    // More than now is used when it is claimed; less is claimed when no more is used.
    const isSmaller = claim.divisor > this.#claim.divisor
    if (isSmaller) this.#claim = claim
    const published = fits(claim) ? claim.divisor : Math.min(this.#published, claim.divisor)
    return { claim: { ...claim, rank: published === nodes ? rankOf(nodeId, others, nodes) : undefined }, published }
  }

  /** Who could not have heard the others is no judge of their silence. */
  #silenceMs(nowMs: number): number | undefined {
    const silenceMs = SILENCE_WINDOWS * this.#options.windowMs
    return nowMs - (this.#inTouchSinceMs ?? nowMs) > silenceMs ? silenceMs : undefined
  }
}

/** The node's place among nodes with equal parts; `undefined` while their parts are not equal. */
function rankOf(nodeId: string, others: readonly ClaimedPart[], nodes: number): number | undefined {
  const areEqual = others.length + 1 === nodes && others.every(({ divisor, hasLeft }) => divisor === nodes && !hasLeft)
  return areEqual ? others.filter(other => other.nodeId < nodeId).length : undefined
}

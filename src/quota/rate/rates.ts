import { Loop } from '#lib/loop.ts'
import type { RateBoard } from './board.ts'
import { Exchange } from './exchange.ts'
import { Membership } from './membership.ts'
import type { Claim } from './share.ts'
import { Tally } from './tally.ts'
import { SPANS_A_WINDOW as TICKS } from './window.ts'

const WINDOW_MS = 60_000
/** A node shows that it lives at every so many ticks. */
const TICKS_PER_RENEWAL = 5
/** All subjects are looked at within so many ticks: a hundred thousand at once would hold up everyone. */
const SWEEP_TICKS = 10
/** What was stated and lent is kept for so many windows: for a lender that starts again. */
const KEPT_WINDOWS = 3

export type RateKind = 'organization' | 'key' | 'management'

/** Whose requests are counted, and how many of them a minute may have. */
export interface RateSubject {
  readonly kind: RateKind
  /** Of the organization or the key. */
  readonly id: string
  readonly limit: number
}

/** Where the tightest of a request's limits stands on this node. */
export interface RateStanding {
  readonly limit: number
  /** What this node would let pass at once. */
  readonly remaining: number
  /** Until nothing is counted any more. */
  readonly resetMs: number
}

export interface RateDecision {
  readonly standing: RateStanding
  /** The request must not be served, and was not counted. */
  readonly refused: RateRefusal | undefined
}

export interface RateRefusal {
  readonly subject: RateSubject
  /** It will be admitted then, if all who were refused before it do as they were told. */
  readonly retryAfterSeconds: number
}

export interface RatesOptions {
  readonly board: RateBoard
  readonly nodeId: string
  /** Processes that start together with this one, itself included. */
  readonly siblings: number
  onRefused(kind: RateKind): void
  onError(error: unknown, name: string): void
  /** A minute, unless a test has less time. Everything regular is done so many times a window. */
  readonly windowMs?: number
  /** Never the wall clock, which jumps. */
  readonly now?: () => number
}

/** How many requests a minute each organization and key may send, over all nodes together. */
export class Rates {
  readonly #options: RatesOptions
  readonly #windowMs: number
  readonly #now: () => number
  readonly #tallies = new Map<string, Tally>()
  #sweep = this.#tallies.values()
  readonly #membership: Membership
  readonly #exchange: Exchange
  /** Two loops, so that a database that does not answer holds up no clock. */
  readonly #loops: readonly Loop[]
  #rounds = 0

  constructor(options: RatesOptions) {
    const { board, nodeId, siblings, onError, windowMs = WINDOW_MS, now = () => performance.now() } = options
    this.#options = options
    this.#windowMs = windowMs
    this.#now = now
    this.#membership = new Membership({ board, nodeId, windowMs, siblings, now, fits: claim => this.#fits(claim) })
    this.#exchange = new Exchange({
      board,
      nodeId,
      windowMs,
      now,
      claim: () => this.#membership.claim,
      tallies: () => this.#tallies.values(),
      tallyOf: id => this.#tallyOf(id),
    })
    const intervalMs = windowMs / TICKS
    this.#loops = [
      new Loop({ name: 'rate windows', intervalMs, runOnce: async () => this.tick(), onError }),
      new Loop({ name: 'rate shares', intervalMs, runOnce: () => this.confer(), onError }),
    ]
  }

  async start(): Promise<void> {
    await this.join()
    for (const loop of this.#loops) loop.start()
  }

  /** Claims this node's part of all limits and takes note of what an earlier life has lent. */
  async join(): Promise<void> {
    await this.#membership.renew()
    await this.#exchange.run()
  }

  async stop(): Promise<void> {
    for (const loop of this.#loops) await loop.stop()
  }

  /** Leaves its part to others, for good: no request is admitted any more. */
  async leave(): Promise<void> {
    await this.stop()
    await this.#exchange.leave()
    await this.#options.board.leave(this.#options.nodeId)
  }

  /** Admits a request that is within all its limits, or counts it nowhere. */
  decide(subjects: readonly RateSubject[]): RateDecision {
    const nowMs = this.#now()
    const { claim } = this.#membership
    const counted = subjects.map(subject => {
      const tally = this.#tallyOf(keyOf(subject))
      tally.limit = subject.limit
      const capacity = tally.capacity(claim, nowMs)
      return { subject, tally, capacity, free: capacity - tally.window.used(nowMs) }
    })
    const exhausted = counted.filter(({ free }) => free <= 0)
    if (exhausted.length === 0) for (const { tally } of counted) tally.window.admit(nowMs)
    const tightest = counted.reduce((a, b) => (b.free < a.free ? b : a))
    const standing = {
      limit: tightest.subject.limit,
      remaining: Math.max(0, tightest.free - Number(exhausted.length === 0)),
      resetMs: tightest.tally.window.resetMs(nowMs),
    }
    if (exhausted.length === 0) return { standing, refused: undefined }
    const [longest] = exhausted
      .map(({ subject, tally, capacity }) => ({ subject, retryAfterSeconds: tally.window.refuse(capacity, nowMs) }))
      .toSorted((a, b) => b.retryAfterSeconds - a.retryAfterSeconds)
    if (longest) this.#options.onRefused(longest.subject.kind)
    return { standing, refused: longest }
  }

  /** Time has passed. Subjects of whom nothing counts any more are forgotten, some of them at each tick. */
  tick(): void {
    const nowMs = this.#now()
    this.#membership.tick()
    for (let left = Math.ceil(this.#tallies.size / SWEEP_TICKS); left > 0; left--) {
      const { value: tally } = this.#sweep.next()
      if (!tally) {
        this.#sweep = this.#tallies.values()
        return
      }
      tally.countLent(nowMs)
      if (tally.isIdle(nowMs)) this.#tallies.delete(tally.id)
    }
  }

  /** Deals with the other nodes, if there are any. */
  async confer(): Promise<void> {
    this.#rounds += 1
    const isDue = this.#rounds % TICKS_PER_RENEWAL === 0
    if (isDue || this.#membership.isMoving) await this.#membership.renew()
    if (isDue) await this.#options.board.tidy(this.#options.nodeId, KEPT_WINDOWS * this.#windowMs)
    if (this.#membership.claim.nodes > 1) await this.#exchange.run()
  }

  /** For graphs. */
  get subjectCount(): number {
    return this.#tallies.size
  }

  #fits(claim: Claim): boolean {
    const nowMs = this.#now()
    for (const tally of this.#tallies.values()) if (!tally.fits(claim, nowMs)) return false
    return true
  }

  #tallyOf(id: string): Tally {
    const known = this.#tallies.get(id)
    if (known) return known
    const tally = new Tally(id, this.#windowMs)
    this.#tallies.set(id, tally)
    return tally
  }
}

/** An organization is counted twice: inference must not wait for a dashboard. */
function keyOf({ kind, id }: RateSubject): string {
  return kind === 'management' ? `${id}/management` : id
}

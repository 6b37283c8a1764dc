import type { GivenLoan, Loan, LoanName, Need, Notices, RateBoard, StatedNeed } from './board.ts'
import type { Claim } from './share.ts'
import type { Given, Tally } from './tally.ts'
import { SPANS_A_WINDOW as TICKS } from './window.ts'

/** A need that was not stated again for this many ticks is none. */
const FRESH_TICKS = 4
/** A loan is for one window; it is renewed when this many ticks of it have passed. */
const RENEWAL_TICKS = 5
/** A borrower in touch with the database whose loan was not renewed for so long gives it back: the lender needs it. */
const RECALL_TICKS = 15
/** What a node expects to be asked is met with so much to spare before it lends, or borrows. */
const RESERVE = 1.25
/** A lender keeps this fraction of its part, for subjects that have not asked it yet. */
const KEPT_FRACTION = 0.1
/** What can be spared is lent in halves, a tick apart: the first moments of demand say little. */
const LENT_FRACTION = 0.5
/** A node is short when less than this fraction is free and demand is as much as there is, … */
const FREE_FRACTION = 0.1
/** … or, before that, when demand is so many times what there is, and will soon have used up half of it. */
const FLOOD = 1.5
const FORESIGHT_TICKS = 15
/** The clocks of two machines go alike to this fraction. */
const CLOCK_TOLERANCE = 0.01

export interface ExchangeOptions {
  readonly board: RateBoard
  readonly nodeId: string
  readonly windowMs: number
  now(): number
  claim(): Claim
  tallies(): Iterable<Tally>
  /** The subject's tally, a new one where there was none. */
  tallyOf(subject: string): Tally
}

/**
 * Moves what one node does not use of its part to one that needs more. Only the lender gives: it counts the slots as
 * used before the loan is written, and until a window after the loan has ended, whether or not it hears of the borrower
 * again. So at any moment each slot of a limit is in one node's hands at most, and the sum of what all of them let pass
 * in a window is never more than the limit.
 */
export class Exchange {
  readonly #options: ExchangeOptions
  #ticksInTouch = 0
  /** A loan may have been written after all: until then no word of a return is trusted. */
  #doubtfulUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** One round: states needs, takes note of loans, gives and returns. */
  async run(): Promise<void> {
    const { board, nodeId, windowMs, now } = this.#options
    const needs = this.#needs()
    const askedAtMs = now()
    try {
      const notices = await board.consult(nodeId, [...needs.values()], (FRESH_TICKS * windowMs) / TICKS)
      const answeredAtMs = now()
      this.#noteGiven(notices, answeredAtMs)
      const returns = this.#noteTaken(notices, needs, askedAtMs)
      const loans = this.#lend(notices, needs, answeredAtMs)
      if (loans.length > 0 || returns.length > 0) await board.move(nodeId, loans, returns)
      this.#ticksInTouch += 1
    } catch (error) {
      this.#ticksInTouch = 0
      this.#doubtfulUntilMs = now() + windowMs
      throw error
    }
  }

  /** Gives back all that was borrowed: this node admits nothing any more. */
  async leave(): Promise<void> {
    const { board, nodeId, tallies } = this.#options
    for (const tally of tallies()) tally.borrow(0, Number.NEGATIVE_INFINITY)
    const { loans } = await board.consult(nodeId, [], 0)
    const returns = loans.filter(loan => loan.borrower === nodeId && loan.slots > 0)
    if (returns.length > 0) await board.move(nodeId, [], returns)
  }

  #needs(): Map<string, Need> {
    const nowMs = this.#options.now()
    const claim = this.#options.claim()
    const needs = new Map<string, Need>()
    for (const tally of this.#options.tallies()) {
      const need = needOf(tally, claim, nowMs)
      if (need) needs.set(tally.id, need)
    }
    return needs
  }

  #noteGiven({ loans, databaseMs }: Notices, answeredAtMs: number): void {
    const { nodeId, tallyOf, windowMs } = this.#options
    for (const { lender, borrower, subject, slots, leftMs } of loans) {
      if (lender !== nodeId || leftMs <= -windowMs) continue
      const tally = tallyOf(subject)
      const known = tally.given.findLast(given => given.borrower === borrower)
      if (!known && slots > 0) {
        // An earlier life of this node lent it.
        const given = { borrower, slots, endsAtDatabaseMs: databaseMs + leftMs }
        const countsUntilMs = answeredAtMs + tolerant(Math.max(0, leftMs) + windowMs)
        tally.given = [...tally.given, { ...given, countsUntilMs }]
      } else if (known && slots === 0 && known.endsAtDatabaseMs > databaseMs) {
        if (answeredAtMs < this.#doubtfulUntilMs) continue
        known.endsAtDatabaseMs = databaseMs
        known.countsUntilMs = Math.min(known.countsUntilMs, answeredAtMs + tolerant(windowMs))
      }
      tally.countLent(answeredAtMs)
    }
  }

  /** @returns the loans to give back: what is not needed, and what is not renewed */
  #noteTaken({ loans }: Notices, needs: ReadonlyMap<string, Need>, askedAtMs: number): LoanName[] {
    const { nodeId, tallies, tallyOf, windowMs } = this.#options
    const returns: LoanName[] = []
    const kept = new Map<string, Loan[]>()
    for (const loan of loans) {
      if (loan.borrower !== nodeId || loan.slots === 0 || loan.leftMs <= 0) continue
      const ageTicks = ((windowMs - loan.leftMs) * TICKS) / windowMs
      const isRecalled = ageTicks > RECALL_TICKS && this.#ticksInTouch > RECALL_TICKS
      if (isRecalled || !needs.has(loan.subject)) returns.push(loan)
      else kept.set(loan.subject, [...(kept.get(loan.subject) ?? []), loan])
    }
    for (const tally of tallies()) if (!kept.has(tally.id)) tally.borrow(0, Number.NEGATIVE_INFINITY)
    for (const [subject, all] of kept) {
      const leftMs = Math.min(...all.map(loan => loan.leftMs))
      const slots = all.reduce((sum, loan) => sum + loan.slots, 0)
      tallyOf(subject).borrow(slots, askedAtMs + leftMs / (1 + CLOCK_TOLERANCE))
    }
    return returns
  }

  #lend({ needs: others, databaseMs }: Notices, own: ReadonlyMap<string, Need>, answeredAtMs: number): GivenLoan[] {
    const { claim, tallyOf, windowMs } = this.#options
    // Before it has its whole part, a node has nothing that is surely its own.
    if (claim().divisor > claim().nodes) return []
    const loans: GivenLoan[] = []
    for (const [subject, stated] of Map.groupBy(others, need => need.subject)) {
      const tally = tallyOf(subject)
      if (tally.limit === 0) tally.limit = Math.max(...stated.map(need => need.limit))
      const isShort = (own.get(subject)?.wanted ?? 0) > 0
      if (isShort || tally.lent > tally.own(claim())) continue
      const changed = this.#lendOf(tally, stated, { databaseMs, answeredAtMs })
      for (const given of changed) {
        given.endsAtDatabaseMs = databaseMs + windowMs
        given.countsUntilMs = answeredAtMs + tolerant(2 * windowMs)
        const { borrower, slots, endsAtDatabaseMs } = given
        loans.push({ subject, borrower, slots, endsAtDatabaseMs })
      }
      tally.countLent(answeredAtMs)
    }
    return loans
  }

  /** @returns what was given anew, raised, or is to be renewed */
  #lendOf(
    tally: Tally,
    needs: readonly StatedNeed[],
    { databaseMs, answeredAtMs }: { databaseMs: number; answeredAtMs: number },
  ): Given[] {
    const { claim, windowMs } = this.#options
    const renewedUntilMs = databaseMs + windowMs - (RENEWAL_TICKS * windowMs) / TICKS
    let spare = Math.ceil(Math.max(0, spareOf(tally, claim(), answeredAtMs)) * LENT_FRACTION)
    return needs.flatMap(({ nodeId: borrower, wanted }, index) => {
      const fairPart = Math.ceil(spare / (needs.length - index))
      const more = Math.min(wanted, fairPart)
      spare -= more
      const current = tally.given.find(given => given.borrower === borrower && given.endsAtDatabaseMs > databaseMs)
      if (!current) return more > 0 ? [give(tally, borrower, more)] : []
      current.slots += more
      return more > 0 || current.endsAtDatabaseMs < renewedUntilMs ? [current] : []
    })
  }
}

/** What this node needs of a subject beyond what it has, or in order to keep what it has borrowed. */
function needOf(tally: Tally, claim: Claim, nowMs: number): Need | undefined {
  const { id: subject, limit } = tally
  if (isShort(tally, claim, nowMs)) {
    const enough = Math.min(limit, Math.ceil(demandOf(tally, nowMs) * RESERVE))
    return { subject, limit, wanted: Math.max(0, enough - tally.capacity(claim, nowMs)) }
  }
  const isKept = tally.borrowed(nowMs) > 0 && demandOf(tally, nowMs) > tally.own(claim) - tally.lent
  return isKept ? { subject, limit, wanted: 0 } : undefined
}

function isShort(tally: Tally, claim: Claim, nowMs: number): boolean {
  const arrivalsASpan = tally.window.arrivalsASpan(nowMs)
  const capacity = tally.capacity(claim, nowMs)
  const arrivals = arrivalsASpan * TICKS
  // Most subjects are asked for little: for them this is all that is done.
  if (arrivals < capacity * (1 - FREE_FRACTION)) return false
  const used = tally.window.used(nowMs)
  if (capacity - used <= capacity * FREE_FRACTION) return true
  return arrivals > capacity * FLOOD && used + arrivalsASpan * FORESIGHT_TICKS > capacity / 2
}

/** A loan that is not written yet; when it ends is still to be said. */
function give(tally: Tally, borrower: string, slots: number): Given {
  const given = { borrower, slots, endsAtDatabaseMs: 0, countsUntilMs: Number.POSITIVE_INFINITY }
  tally.given = [...tally.given, given]
  return given
}

/** What is neither lent nor used, nor expected to be. */
function spareOf(tally: Tally, claim: Claim, nowMs: number): number {
  const own = tally.own(claim)
  const expected = Math.ceil(demandOf(tally, nowMs) * RESERVE)
  return own - tally.lent - Math.max(expected, Math.floor(own * KEPT_FRACTION))
}

/** Requests a window, as things are. */
function demandOf({ window }: Tally, nowMs: number): number {
  return Math.max(window.used(nowMs), window.arrivalsASpan(nowMs) * TICKS)
}

function tolerant(ms: number): number {
  return ms * (1 + CLOCK_TOLERANCE)
}

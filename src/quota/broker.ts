import { largerOf, type Picodollars } from '#core/money.ts'
import { lockAccounts } from '#ledger/store.ts'
import { Turns } from '#lib/turns.ts'
import { announceChange } from '#storage/changes.ts'
import type { Database } from '#storage/database.ts'
import { allocate, type Need } from './allocation.ts'
import type { Lease } from './lease.ts'
import type { Leases } from './leases.ts'
import {
  addToLeases,
  assertTerm,
  beginTerm,
  countLiveNodes,
  type LeaseAmount,
  listSilentNodes,
  lockStandings,
  readLeases,
  removeNode,
  renewTerm,
  type Standing,
  type Term,
  takeFromLeases,
} from './store.ts'

/** Nodes hear of these by the change feed; the subject of the change is the lease's. */
export const QUOTA_TOPICS = Object.freeze({
  /** Somebody needs what others have and do not use. */
  recall: 'quota-recall',
  /** Something was given back. */
  returned: 'quota-returned',
})

/**
 * A node that nobody has heard of for this long is dead, and its leases are returned. Until then they wait for it to
 * come back, because what it has spent of them may be in its journal only.
 */
const SILENCE_MS_MAX = 5 * 60_000
/**
 * Without news from the database a node trusts its leases no longer than this. The minute in between covers requests
 * under way and a database that comes back to this node later than to the one that buries it.
 */
export const TRUST_MS = 4 * 60_000

/** What was posted of a batch of records, as the database says it. */
export interface Posted {
  /** What the batch cost, by subject id, whether or not it had been posted before. */
  readonly spent: ReadonlyMap<string, Picodollars>
  /** What this node's leases of these subjects amount to now; none where there is no lease. */
  readonly leased: ReadonlyMap<string, Picodollars>
}

/** What requests that wait have asked for since the last round. */
interface Ask {
  readonly first: Picodollars
  readonly total: Picodollars
}

export interface BrokerDeps {
  readonly database: Database
  readonly nodeId: string
  readonly leases: Leases
  /** Without news from the database the leases are trusted no longer than this. */
  readonly trustMs: number
  onGranted(): void
}

/**
 * Moves money between Postgres and this node's leases. One change at a time, so that what a change brings back is the
 * lease's state until the next one; those who ask meanwhile are served together. After a failure nobody knows what
 * came of it: a new term begins, which makes what may still be on its way void, and reads the leases anew.
 */
export class Broker {
  readonly #deps: BrokerDeps
  readonly #turns = new Turns()
  #term: Term | undefined
  #asks = new Map<Lease, Ask>()
  #round: Promise<ReadonlyMap<Lease, Standing>> | undefined
  #heardAtMs = Number.NEGATIVE_INFINITY
  #unheardAtMs = performance.now()

  constructor(deps: BrokerDeps) {
    this.#deps = deps
  }

  /** Whether the leases in memory are surely this node's still. */
  get isTrusted(): boolean {
    return performance.now() - this.#heardAtMs < this.#deps.trustMs
  }

  /**
   * Asks for `amount`, or, where it is 0, for what is of use in the near future. Shared with all who ask meanwhile.
   *
   * @returns how the subjects stood before this round
   */
  ask(lease: Lease, amount: Picodollars): Promise<ReadonlyMap<Lease, Standing>> {
    const { first, total } = this.#asks.get(lease) ?? { first: 0n, total: 0n }
    this.#asks.set(lease, { first: first || amount, total: total + amount })
    this.#round ??= this.#turns.take(() => {
      const asks = this.#asks
      this.#asks = new Map()
      this.#round = undefined
      return this.#inTerm(term => this.#grant(term, asks))
    })
    return this.#round
  }

  /** Tells other nodes that `lease` cannot do without what they do not use. */
  async recall({ subject }: Lease): Promise<void> {
    await this.#deps.database
      .transaction()
      .execute(transaction => announceChange(transaction, QUOTA_TOPICS.recall, subject.id))
  }

  /**
   * Gives back what `amountOf` says of each lease.
   *
   * @param announces whether others wait for it
   */
  giveBack(amountOf: (lease: Lease) => Picodollars, { announces = false } = {}): Promise<void> {
    return this.#turns.take(() =>
      this.#inTerm(async term => {
        const returns: LeaseAmount[] = []
        for (const lease of this.#deps.leases.list()) {
          const amount = amountOf(lease)
          if (amount <= 0n) continue
          lease.withdraw(amount)
          returns.push({ subject: lease.subject, amount })
        }
        if (returns.length > 0) await this.#return(term, returns, announces)
      }),
    )
  }

  /** Runs the transaction that posts spending and shrinks the leases by it. */
  post<T extends Posted>(run: () => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      const posted = await run()
      for (const [id, spent] of posted.spent) {
        this.#deps.leases.find(id)?.post(spent, posted.leased.get(id) ?? 0n)
      }
      return posted
    })
  }

  /** Shows that this node lives. */
  renew(): Promise<void> {
    return this.#turns.take(async () => {
      const startedAtMs = performance.now()
      try {
        if (!this.#term || !(await renewTerm(this.#deps.database, this.#term))) await this.#begin()
        this.#heardAtMs = startedAtMs
      } catch (error) {
        this.#unheardAtMs = performance.now()
        throw error
      }
    })
  }

  /** Gives back everything and takes leave. What could not be posted stays leased until this node returns, or is buried. */
  async leave(): Promise<void> {
    await this.giveBack(lease => lease.free)
    const { database, leases, nodeId } = this.#deps
    if (leases.list().some(lease => lease.granted > 0n)) return
    await this.#turns.take(() => database.transaction().execute(transaction => removeNode(transaction, nodeId, 0)))
  }

  /**
   * Returns the leases of nodes that are dead. Who could not have heard them is no judge of their silence: a database
   * that comes back after an outage is not a graveyard.
   */
  async bury(silenceMs = SILENCE_MS_MAX): Promise<void> {
    if (performance.now() - this.#unheardAtMs < silenceMs) return
    const { database, nodeId } = this.#deps
    for (const silent of await listSilentNodes(database, silenceMs)) {
      if (silent !== nodeId) await this.#buryNode(silent, silenceMs)
    }
  }

  async #buryNode(nodeId: string, silenceMs: number): Promise<void> {
    const { database } = this.#deps
    const organizationIds = (await readLeases(database, nodeId)).map(({ subject }) => subject.organizationId)
    await database.transaction().execute(async transaction => {
      await lockAccounts(transaction, organizationIds)
      const returns = await readLeases(transaction, nodeId)
      if (returns.length > 0) await takeFromLeases(transaction, nodeId, returns)
      if (!(await removeNode(transaction, nodeId, silenceMs))) throw new Error('a node that was silent has come back')
    })
  }

  async #inTerm<T>(run: (term: Term) => Promise<T>): Promise<T> {
    const term = this.#term ?? (await this.#begin())
    try {
      return await run(term)
    } catch (error) {
      this.#term = undefined
      throw error
    }
  }

  /** From here on the leases are what the database says. */
  async #begin(): Promise<Term> {
    const { database, nodeId, leases } = this.#deps
    const startedAtMs = performance.now()
    const term = await beginTerm(database, nodeId)
    const amounts = new Map(
      (await readLeases(database, nodeId)).map(({ subject, amount }) => [leases.of(subject), amount]),
    )
    for (const lease of leases.list()) lease.renew(amounts.get(lease) ?? 0n)
    this.#heardAtMs = startedAtMs
    this.#term = term
    return term
  }

  async #grant(term: Term, asks: ReadonlyMap<Lease, Ask>): Promise<ReadonlyMap<Lease, Standing>> {
    const { database, nodeId, onGranted } = this.#deps
    const { standings, amounts } = await database.transaction().execute(async transaction => {
      const subjects = [...asks.keys()].map(({ subject }) => subject)
      const standings = await lockStandings(transaction, subjects)
      await assertTerm(transaction, term)
      const liveNodes = await countLiveNodes(transaction)
      const grants: LeaseAmount[] = []
      for (const [lease, ask] of asks) {
        const need = needOf(lease, ask)
        const available = standings.get(lease.subject.id)?.available ?? 0n
        const amount = allocate(need, { available, liveNodes })
        lease.isScarce = amount < need.wanted
        if (amount > 0n) grants.push({ subject: lease.subject, amount })
      }
      return {
        standings,
        amounts: grants.length > 0 ? await addToLeases(transaction, nodeId, grants) : new Map<string, Picodollars>(),
      }
    })
    const stood = new Map<Lease, Standing>()
    for (const lease of asks.keys()) {
      stood.set(lease, standings.get(lease.subject.id) ?? NOTHING)
      const amount = amounts.get(lease.subject.id)
      if (amount === undefined) continue
      lease.renew(amount)
      onGranted()
    }
    return stood
  }

  async #return(term: Term, returns: readonly LeaseAmount[], announces: boolean): Promise<void> {
    await this.#deps.database.transaction().execute(async transaction => {
      await lockAccounts(
        transaction,
        returns.map(({ subject }) => subject.organizationId),
      )
      await assertTerm(transaction, term)
      await takeFromLeases(transaction, term.nodeId, returns)
      if (!announces) return
      for (const { subject } of returns) await announceChange(transaction, QUOTA_TOPICS.returned, subject.id)
    })
  }
}

/** Of a subject that is not there. */
const NOTHING: Standing = Object.freeze({ balance: 0n, available: 0n })

/** What is asked for and what will be of use, less what is free already. A payer's first request is seldom its last. */
function needOf({ free, reserve }: Lease, { first, total }: Ask): Need {
  const ahead = largerOf(reserve, first * 2n)
  return { least: largerOf(first - free, 0n), wanted: largerOf(total + ahead - free, 0n) }
}

import { Fault } from '#core/fault.ts'
import { formatUsd, type Picodollars } from '#core/money.ts'
import { Loop } from '#lib/loop.ts'
import type { Database } from '#storage/database.ts'
import { Broker, type Posted, QUOTA_TOPICS, TRUST_MS } from './broker.ts'
import { Hold } from './hold.ts'
import type { Lease } from './lease.ts'
import { Leases } from './leases.ts'
import { cannotAsk, refusal } from './refusal.ts'
import { readDrift, type Standing } from './store.ts'

/**
 * The pace of everything that is regular: showing that this node lives, counting what was of use, giving back what was
 * not. Two of these spans are what a lease remembers, so an unused one is given back after 5 to 10 s.
 */
const TICK_MS = 5_000
/** Dead nodes and drift are looked for at every so many ticks, half a minute. */
const TICKS_PER_INSPECTION = 6
/** A request waits this long for other nodes to give back what they do not use. */
const RECALL_PATIENCE_MS = 250
/** A request waits this long for the database; a grant is one short transaction. */
const GRANT_PATIENCE_MS = 2_000

export interface QuotaOptions {
  readonly database: Database
  /** Names this process, and after a restart its successor on the same data folder. */
  readonly nodeId: string
  readonly observer: QuotaObserver
  /** Shorter than four minutes for tests; never longer, because others may then take the leases for abandoned. */
  readonly trustMs?: number
  onError(error: unknown, what: string): void
}

/** Told what the metrics count. */
export interface QuotaObserver {
  granted(): void
  /** A request had to wait for a grant, whatever came of it. */
  waited(ms: number): void
  refused(code: string): void
}

/** Who pays for a request. */
export interface Payer {
  readonly organizationId: string
  readonly keyId: string
  /** The key has a limit of its own. */
  readonly isLimited: boolean
}

/** Admits requests whose cost is covered, on this node and together with all others. */
export class Quota {
  readonly #options: QuotaOptions
  readonly #leases = new Leases()
  readonly #broker: Broker
  readonly #loop: Loop
  readonly #recalledAtMs = new WeakMap<Lease, number>()
  #ticks = 0
  #drift: Picodollars = 0n

  constructor(options: QuotaOptions) {
    this.#options = options
    this.#broker = new Broker({
      database: options.database,
      nodeId: options.nodeId,
      leases: this.#leases,
      trustMs: Math.min(options.trustMs ?? TRUST_MS, TRUST_MS),
      onGranted: () => options.observer.granted(),
    })
    this.#loop = new Loop({ name: 'quota', intervalMs: TICK_MS, runOnce: () => this.#tick(), onError: options.onError })
  }

  /** Takes up work. What an earlier life left in the journal must be posted by now; what it left leased is given back. */
  async start(): Promise<void> {
    await this.#broker.renew()
    await this.#broker.giveBack(lease => lease.free)
    this.#loop.start()
  }

  /** Stops being regular; call {@link leave} first to keep nothing from others. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Gives back everything, for good: no request is left, and all usage is posted. */
  async leave(): Promise<void> {
    await this.#loop.stop()
    await this.#broker.leave()
  }

  /**
   * Holds what a request may cost at most.
   *
   * @returns at once when the leases suffice
   * @throws Fault `insufficient_balance`, `quota_exceeded`, or `service_unavailable` when nobody can be asked
   */
  admit(payer: Payer, amount: Picodollars): Hold | Promise<Hold> {
    const organization = this.#leases.ofOrganization(payer.organizationId)
    const hold = new Hold(
      payer.isLimited ? [organization, this.#leases.ofKey(payer.keyId, payer.organizationId)] : [organization],
    )
    const waiting = this.extend(hold, amount)
    return waiting ? waiting.then(() => hold) : hold
  }

  /** Adds to a hold. @returns `undefined` when the leases suffice. @throws Fault as {@link admit} */
  extend(hold: Hold, amount: Picodollars): Promise<void> | undefined {
    return amount === 0n || this.#tryExtend(hold, amount) ? undefined : this.#extendLater(hold, amount)
  }

  /** Runs the transaction that posts spending, and takes note of it. */
  post<T extends Posted>(run: () => Promise<T>): Promise<T> {
    return this.#broker.post(run)
  }

  /** A change of one of {@link QUOTA_TOPICS} was announced. */
  heard(topic: string, subjectId: string): void {
    const lease = this.#leases.find(subjectId)
    if (!lease) return
    if (topic === QUOTA_TOPICS.recall) {
      this.#broker
        .giveBack(each => (each === lease ? each.free : 0n), { announces: true })
        .catch(error => this.#options.onError(error, 'quota recall'))
    } else {
      lease.returnsHeard += 1
      lease.changed.fire()
    }
  }

  /** US dollars that requests under way hold, and that are leased to this node; for graphs. */
  get totals(): { readonly held: number; readonly leased: number; readonly drift: number } {
    const organizations = this.#leases.list().filter(({ subject }) => subject.kind === 'organization')
    return {
      held: toNumber(organizations.reduce((sum, { held }) => sum + held, 0n)),
      leased: toNumber(organizations.reduce((sum, { granted }) => sum + granted, 0n)),
      drift: toNumber(this.#drift),
    }
  }

  #tryExtend(hold: Hold, amount: Picodollars): boolean {
    if (!this.#broker.isTrusted || !hold.tryAdd(amount)) return false
    for (const lease of hold.leases) if (lease.isLow && !lease.isScarce) this.#refill(lease)
    return true
  }

  /** Asks ahead, so that no request has to. */
  #refill(lease: Lease): void {
    // Until the answer is there; it says how it is.
    lease.isScarce = true
    this.#broker.ask(lease, 0n).catch(error => this.#options.onError(error, 'quota refill'))
  }

  async #extendLater(hold: Hold, amount: Picodollars): Promise<void> {
    const startedAtMs = performance.now()
    for (const lease of hold.leases) lease.waiters += 1
    try {
      await this.#wait(hold, amount, startedAtMs)
    } catch (error) {
      if (error instanceof Fault) this.#options.observer.refused(error.code)
      throw error
    } finally {
      for (const lease of hold.leases) lease.waiters -= 1
      this.#options.observer.waited(performance.now() - startedAtMs)
    }
  }

  async #wait(hold: Hold, amount: Picodollars, startedAtMs: number): Promise<void> {
    let patientUntilMs = Number.POSITIVE_INFINITY
    for (;;) {
      const heard = hold.leases.map(lease => lease.returnsHeard)
      const standings = await this.#ask(hold, amount)
      if (this.#tryExtend(hold, amount)) return
      const short = findShortage(hold.leases, standings, amount)
      const nowMs = performance.now()
      if (!short) {
        // Others were quicker. There is enough for now, so the next round may serve this one.
        if (nowMs - startedAtMs > GRANT_PATIENCE_MS) throw cannotAsk('too many requests wait for the same lease')
        continue
      }
      patientUntilMs = Math.min(patientUntilMs, nowMs + RECALL_PATIENCE_MS)
      const { lease, standing } = short
      if (standing.balance < amount || nowMs >= patientUntilMs) throw refusal(lease.subject, standing, amount)
      this.#recall(lease)
      if (await this.#takeWhenFree(hold, amount, { lease, heard, patientUntilMs })) return
    }
  }

  /** @returns how the subjects stood that had too little, after they were asked for more */
  async #ask(hold: Hold, amount: Picodollars): Promise<ReadonlyMap<Lease, Standing>> {
    const asked = async () => {
      if (!this.#broker.isTrusted) await this.#broker.renew()
      const lacking = hold.leases.filter(lease => lease.free < amount)
      const rounds = await Promise.all(lacking.map(lease => this.#broker.ask(lease, amount)))
      return new Map(rounds.flatMap(round => [...round]))
    }
    try {
      return await within(GRANT_PATIENCE_MS, asked())
    } catch (error) {
      throw cannotAsk(error)
    }
  }

  #recall(lease: Lease): void {
    const nowMs = performance.now()
    if (nowMs - (this.#recalledAtMs.get(lease) ?? Number.NEGATIVE_INFINITY) < RECALL_PATIENCE_MS) return
    this.#recalledAtMs.set(lease, nowMs)
    this.#broker.recall(lease).catch(error => this.#options.onError(error, 'quota recall'))
  }

  /** @returns `false` when it is time to ask again: something was given back elsewhere, or patience is over */
  async #takeWhenFree(
    hold: Hold,
    amount: Picodollars,
    { lease, heard, patientUntilMs }: { lease: Lease; heard: readonly number[]; patientUntilMs: number },
  ): Promise<boolean> {
    const heardBefore = heard[hold.leases.indexOf(lease)]
    for (;;) {
      if (lease.returnsHeard !== heardBefore) return false
      const leftMs = patientUntilMs - performance.now()
      if (leftMs <= 0) return false
      await lease.changed.wait(leftMs)
      if (this.#tryExtend(hold, amount)) return true
    }
  }

  async #tick(): Promise<void> {
    this.#leases.tick()
    await this.#broker.renew()
    await this.#broker.giveBack(lease => lease.surplus)
    this.#ticks += 1
    if (this.#ticks % TICKS_PER_INSPECTION !== 0) return
    await this.#broker.bury()
    this.#drift = await readDrift(this.#options.database)
  }
}

/** The lease for which the round that has just been had too little for even one request, if there is one. */
function findShortage(leases: readonly Lease[], standings: ReadonlyMap<Lease, Standing>, amount: Picodollars) {
  return leases
    .flatMap(lease => {
      const standing = standings.get(lease)
      const isShort = standing && lease.free < amount && standing.available < amount - lease.free
      return isShort ? [{ lease, standing }] : []
    })
    .toSorted((a, b) => Number(a.standing.balance >= amount) - Number(b.standing.balance >= amount))[0]
}

function toNumber(amount: Picodollars): number {
  return Number(formatUsd(amount))
}

/** @throws when it takes longer */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the database has not answered within ${ms} ms`)), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

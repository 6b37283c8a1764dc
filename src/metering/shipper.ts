import { appendFile } from 'node:fs/promises'
import { Loop } from '#lib/loop.ts'
import type { Quota } from '#quota/quota.ts'
import { type Database, isUnavailable } from '#storage/database.ts'
import { isFailedAttempt } from './failed-attempts/record.ts'
import { insertFailedAttempts } from './failed-attempts/store.ts'
import type { Journal, JournalBatch } from './journal/journal.ts'
import { ensurePartitions, isMissingPartition } from './partitions.ts'
import { insertUsage, writeOff } from './store.ts'

const BATCH_BYTES = 512 * 1024
/** Records gather for this long after the first: a transaction per request would cost more than the request. */
const GATHER_MS = 200
const IDLE_MS = 1_000
const RETRY_MS = 1_000

export interface ShipperOptions {
  readonly journal: Journal
  readonly database: Database
  readonly nodeId: string
  /** What is posted is no longer this node's to spend. */
  readonly quota: Pick<Quota, 'post'>
  /** Where records go that Postgres refuses for what they say; an operator decides about them. */
  readonly rejectedFile: string
  onShipped(records: number): void
  onRejected(error: unknown, record: string): void
  onError(error: unknown, what: string): void
}

/** What becomes of one kind of the journal's records. */
interface RecordKind {
  /** @param records a JSON array; a repeat changes nothing */
  insert(records: string): Promise<void>
  /** What is to be done about a record that Postgres refuses, before it is set aside. */
  writeOff(record: string): Promise<void>
}

/** Moves the journal into Postgres, oldest records first, for as long as the node lives. */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #loop: Loop
  readonly #usage: RecordKind = {
    insert: async records => {
      const { database, nodeId, quota, onShipped } = this.#options
      const { rows } = await quota.post(() => insertUsage(database, records, nodeId))
      onShipped(rows)
    },
    writeOff: async record => {
      const { database, nodeId, quota } = this.#options
      await quota.post(() => writeOff(database, record, nodeId))
    },
  }
  readonly #failedAttempts: RecordKind = {
    insert: records => insertFailedAttempts(this.#options.database, records),
    writeOff: async () => {},
  }
  #isBehind = false
  #waiting: (() => void)[] = []

  constructor(options: ShipperOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'usage shipping',
      intervalMs: IDLE_MS,
      runOnce: signal => this.#runOnce(signal),
      onError: options.onError,
    })
    options.journal.onAppended(() => {
      if (this.#isBehind) return
      this.#isBehind = true
      setTimeout(() => this.#loop.wake(), GATHER_MS)
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Stops after the pass under way; call {@link shipAll} first to leave nothing behind. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Resolves when everything that is durable now is in Postgres. */
  shipped(): Promise<void> {
    const done = new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#loop.wake()
    return done
  }

  async #runOnce(signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    this.#isBehind = false
    try {
      for (;;) {
        const batch = await this.#options.journal.read(BATCH_BYTES)
        if (!batch) break
        await this.#ship(batch)
        if (signal.aborted) break
      }
      for (const resolve of waiting) resolve()
    } catch (error) {
      this.#waiting.push(...waiting)
      setTimeout(() => this.#loop.wake(), RETRY_MS)
      throw error
    }
  }

  async #ship({ payloads, end }: JournalBatch): Promise<void> {
    const { true: failed = [], false: usage = [] } = Object.groupBy(payloads, each => `${isFailedAttempt(each)}`)
    if (usage.length > 0) await this.#insert(this.#usage, usage)
    if (failed.length > 0) await this.#insert(this.#failedAttempts, failed)
    this.#options.journal.release(end)
  }

  async #insert(kind: RecordKind, payloads: readonly Buffer[], hasPartitions = false): Promise<void> {
    try {
      await kind.insert(`[${payloads.map(payload => payload.toString('utf8')).join(',')}]`)
    } catch (error) {
      await this.#recover(kind, payloads, error, hasPartitions)
    }
  }

  /** One record that Postgres will never take must not hold up all that follow: it is found by halving, and set aside. */
  async #recover(kind: RecordKind, payloads: readonly Buffer[], error: unknown, hasPartitions: boolean): Promise<void> {
    if (isUnavailable(error) || !isDataError(error)) throw error
    if (isMissingPartition(error) && !hasPartitions) {
      await ensurePartitions(this.#options.database, oldestMonth(payloads), new Date())
      return this.#insert(kind, payloads, true)
    }
    if (payloads.length > 1) {
      const half = Math.ceil(payloads.length / 2)
      await this.#insert(kind, payloads.slice(0, half), hasPartitions)
      return this.#insert(kind, payloads.slice(half), hasPartitions)
    }
    const record = (payloads[0] as Buffer).toString('utf8')
    await kind.writeOff(record)
    await appendFile(this.#options.rejectedFile, `${record}\n`, { mode: 0o600, flush: true })
    this.#options.onRejected(error, record)
  }
}

/** SQLSTATE classes 22 (bad data) and 23 (a constraint refused it): trying again would end the same way. */
function isDataError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]/.test(error.code)
}

function oldestMonth(payloads: readonly Buffer[]): Date {
  const times = payloads.map(payload =>
    Date.parse((JSON.parse(payload.toString('utf8')) as { created_at: string }).created_at),
  )
  return new Date(Math.min(...times))
}

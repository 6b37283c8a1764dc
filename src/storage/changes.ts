import { sql } from 'kysely'
import pg from 'pg'
import { Loop } from '#lib/loop.ts'
import { clientConfig, type Database, type DatabaseAddress, type DatabaseTransaction } from './database.ts'

/**
 * The change feed: how a node learns that something which it may have cached has changed. A change is a row written in
 * the same transaction as what it announces. `NOTIFY` makes it known at once; reading the table every second finds it
 * too when a notification was lost, or could not be sent through a pooler.
 */

const CHANNEL = 'tollgate_changes'
const POLL_MS = 1_000
/** Rows are read again for this long: a transaction that began early may commit after younger rows were read. */
const OVERLAP = sql`interval '30 seconds'`
const KEPT = sql`interval '1 hour'`

/** Announces to all nodes, when `transaction` commits, that `subject` (an id) of `topic` has changed. */
export async function announceChange(transaction: DatabaseTransaction, topic: string, subject: string): Promise<void> {
  await sql`insert into changes (topic, subject) values (${topic}, ${subject})`.execute(transaction)
  await sql`select pg_notify(${CHANNEL}, '')`.execute(transaction)
}

export interface ChangeFeedOptions {
  readonly database: Database
  readonly address: DatabaseAddress
  onChange(topic: string, subject: string): void
  onError(error: unknown, name: string): void
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #loop: Loop
  #listener: pg.Client | undefined
  #seen = new Map<number, number>()
  #isFirstRead = true
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ChangeFeedOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'change feed',
      intervalMs: POLL_MS,
      runOnce: () => this.#runOnce(),
      onError: options.onError,
    })
  }

  async start(): Promise<void> {
    await this.#runOnce()
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#listener?.end().catch(() => {})
    this.#listener = undefined
  }

  /** Time since the feed was last read: what changed within it may not be known here. */
  get lagMs(): number {
    return performance.now() - this.#readAtMs
  }

  async #runOnce(): Promise<void> {
    if (!this.#listener) await this.#listen()
    const startedAtMs = performance.now()
    const { rows } = await sql<{ id: number; topic: string; subject: string }>`
      select id, topic, subject from changes where created_at > now() - ${OVERLAP} order by id
    `.execute(this.#options.database)
    const now = Date.now()
    for (const { id, topic, subject } of rows) {
      // What changed before this node started cannot be in its caches.
      if (!this.#seen.has(id) && !this.#isFirstRead) this.#options.onChange(topic, subject)
      this.#seen.set(id, now)
    }
    this.#isFirstRead = false
    this.#readAtMs = startedAtMs
    for (const [id, readAt] of this.#seen) if (readAt < now) this.#seen.delete(id)
  }

  async #listen(): Promise<void> {
    const client = new pg.Client({ ...clientConfig(this.#options.address), keepAlive: true })
    const drop = () => {
      if (this.#listener === client) this.#listener = undefined
    }
    client.on('error', drop)
    client.on('end', drop)
    client.on('notification', () => this.#loop.wake())
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    this.#listener = client
  }
}

/** Forgets announcements that every living node has long read. */
export async function pruneChanges(database: Database): Promise<void> {
  await sql`delete from changes where created_at < now() - ${KEPT}`.execute(database)
}

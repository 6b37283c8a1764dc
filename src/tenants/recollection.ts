import { LRUCache } from 'lru-cache'
import { Fault } from '#core/fault.ts'
import { isUnavailable } from '#storage/database.ts'

/** Read again after this, in case a change was never announced. */
const FRESH_MS = 60_000
/** While the change feed is behind, what was read may have changed since: it counts for this long only. */
const FRESH_WITHOUT_FEED_MS = 500
const FEED_LAG_MS_MAX = 2_500
/** With the database away, what was known this recently still counts. */
const STALE_MS_MAX = 5 * 60_000
const DATABASE_RETRY_SECONDS = 5

export interface RecollectionOptions {
  /** What it holds, said in a refusal: `API keys`. */
  readonly what: string
  readonly max: number
  /** How far this node's knowledge of changes lags behind the database. */
  feedLagMs(): number
}

interface Remembered<V> {
  readonly value: V
  readonly readAtMs: number
}

/**
 * What this node remembers of rows that every request needs: looked up without waiting, read once for all who ask at
 * the same time, forgotten when the change feed says so, and kept for a while when the database is away.
 */
export class Recollection<V extends object> {
  readonly #options: RecollectionOptions
  readonly #remembered: LRUCache<string, Remembered<V>>
  readonly #reading = new Map<string, Promise<V>>()

  constructor(options: RecollectionOptions) {
    this.#options = options
    this.#remembered = new LRUCache({ max: options.max })
  }

  /** What is known well enough to act on. */
  get(key: string): V | undefined {
    const remembered = this.#remembered.get(key)
    if (!remembered) return undefined
    const isFeedCurrent = this.#options.feedLagMs() < FEED_LAG_MS_MAX
    const ageMs = performance.now() - remembered.readAtMs
    return ageMs < (isFeedCurrent ? FRESH_MS : FRESH_WITHOUT_FEED_MS) ? remembered.value : undefined
  }

  /** @throws Fault `service_unavailable` when the database cannot be asked and nothing recent is known */
  read(key: string, query: () => Promise<V>): Promise<V> {
    const underWay = this.#reading.get(key)
    if (underWay) return underWay
    const reading: Promise<V> = this.#query(key, query, () => this.#reading.get(key) === reading).finally(() => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    })
    this.#reading.set(key, reading)
    return reading
  }

  /** What is being read may have been read before the change: it is given to those who wait, and not kept. */
  forget(isAbout: (value: V, key: string) => boolean): void {
    this.#reading.clear()
    for (const [key, { value }] of this.#remembered) if (isAbout(value, key)) this.#remembered.delete(key)
  }

  async #query(key: string, query: () => Promise<V>, isCurrent: () => boolean): Promise<V> {
    const readAtMs = performance.now()
    try {
      const value = await query()
      if (isCurrent()) this.#remembered.set(key, { value, readAtMs })
      return value
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause
      const remembered = this.#remembered.get(key)
      if (remembered && performance.now() - remembered.readAtMs < STALE_MS_MAX) return remembered.value
      throw new Fault(
        'service_unavailable',
        `The gateway cannot check ${this.#options.what} at the moment; try again shortly.`,
        { retryAfterSeconds: DATABASE_RETRY_SECONDS, cause },
      )
    }
  }
}

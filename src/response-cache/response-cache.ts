import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { Loop } from '#lib/loop.ts'
import type { Database } from '#storage/database.ts'
import { fairShare } from './fair-share.ts'
import {
  type AnswerPlace,
  type AnswerRow,
  deleteAnswers,
  deleteExpired,
  evictOldest,
  insertAnswer,
  readAnswer,
  readBytes,
} from './store.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** A request that asks for a kept answer waits no longer for the database than this. */
const READ_PATIENCE_MS = 200
/** After a read that failed or came late, the next requests do not even ask. */
const READ_PAUSE_MS = 1_000
/** What may wait to be written; more is not kept. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024
/** What a row is counted for beside its body: keys, headers, usage and three indexes. */
const ROW_BYTES = 512
/** Of one answer, whatever the bound was when it was kept. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const SWEEP_MS = 60_000
const SWEEP_BATCH = 500
/** A sweep comes early once this part of the bound has been added. */
const EARLY_SWEEP_PART = 1 / 20

export interface CacheObserver {
  hit(): void
  missed(): void
  stored(bytes: number): void
  evicted(count: number, reason: 'expired' | 'size'): void
  /** An answer was not kept; its client has had it. */
  unkept(error: unknown, requestId: string): void
  /** The database could not be asked in time. */
  unread(error: unknown): void
}

export interface ResponseCacheOptions {
  readonly database: Database
  /** Bound of all entries together, those of other nodes included; 0 keeps nothing. */
  readonly bytesMax: number
  /** A longer answer is not kept. */
  readonly answerBytesMax: number
  readonly observer: CacheObserver
  onError(error: unknown, duty: string): void
  readonly nowMs?: () => number
}

/** An answer that may be given again. */
export interface KeptAnswer extends AnswerRow {
  /** As the client got it, or is to get it. */
  readonly body: Buffer
}

export interface FoundAnswer extends KeptAnswer {
  readonly ageSeconds: number
}

export interface KeepInput extends AnswerPlace {
  readonly organizationId: string
  /** Under which a failure is reported. */
  readonly requestId: string
  readonly ttlSeconds: number
  readonly answer: KeptAnswer
}

/** Answers that are given again to the same request, in the database that all nodes share. */
export class ResponseCache {
  readonly #options: ResponseCacheOptions
  readonly #nowMs: () => number
  readonly #sweeping: Loop
  readonly #writing = new Set<Promise<void>>()
  #addedBytes = 0
  #pausedUntilMs = 0
  /** Of all entries, when they were last counted. */
  bytes = 0
  /** Of answers that are yet to be written. */
  waitingBytes = 0

  constructor(options: ResponseCacheOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? Date.now
    this.#sweeping = new Loop({
      name: 'eviction of cached answers',
      intervalMs: SWEEP_MS,
      runOnce: signal => this.sweep(signal),
      onError: options.onError,
    })
  }

  /** Bytes of the longest answer that is worth recording. */
  get answerBytesMax(): number {
    return Math.min(this.#options.answerBytesMax, this.#options.bytesMax)
  }

  start(): void {
    this.#sweeping.start()
  }

  /** Ends when all answers are written that were to be kept. */
  async stop(): Promise<void> {
    await this.#sweeping.stop()
    await this.written()
  }

  /** Resolves when what was to be kept so far is in the database, or could not be. */
  async written(): Promise<void> {
    await Promise.all(this.#writing)
  }

  /** Never throws, and never takes long: a database that is slow or away has nothing. */
  async find(place: AnswerPlace, maxAgeSeconds: number): Promise<FoundAnswer | undefined> {
    const { observer } = this.#options
    const found = await this.#read(place, maxAgeSeconds)
    if (found) observer.hit()
    else observer.missed()
    return found
  }

  /** Keeps an answer without making anybody wait. */
  keep(input: KeepInput): void {
    const bytes = input.answer.body.length
    if (bytes > this.answerBytesMax) return
    if (this.waitingBytes + bytes > WAITING_BYTES_MAX) {
      return this.#options.observer.unkept(new Error('too many answers wait to be written'), input.requestId)
    }
    this.waitingBytes += bytes
    const writing = this.#write(input)
      .catch(error => this.#options.observer.unkept(error, input.requestId))
      .finally(() => {
        this.waitingBytes -= bytes
        this.#writing.delete(writing)
      })
    this.#writing.add(writing)
  }

  /** Forgets all answers of a workspace. @returns how many there were */
  forget(workspaceId: string): Promise<number> {
    return deleteAnswers(this.#options.database, workspaceId)
  }

  /** Deletes what has expired, and what is too much: of the organizations that have most, the oldest answers. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const { database, bytesMax, observer } = this.#options
    this.#addedBytes = 0
    for (let count = SWEEP_BATCH; count === SWEEP_BATCH && !signal?.aborted; ) {
      count = await deleteExpired(database, new Date(this.#nowMs()), SWEEP_BATCH)
      if (count > 0) observer.evicted(count, 'expired')
    }
    const organizations = await readBytes(database)
    const share = fairShare(
      organizations.map(({ bytes }) => bytes),
      bytesMax,
    )
    for (const { organizationId, bytes } of organizations) {
      if (bytes > share) observer.evicted(await evictOldest(database, organizationId, share), 'size')
    }
    this.bytes = organizations.reduce((sum, { bytes }) => sum + Math.min(bytes, share), 0)
  }

  async #read(place: AnswerPlace, maxAgeSeconds: number): Promise<FoundAnswer | undefined> {
    const nowMs = this.#nowMs()
    if (nowMs < this.#pausedUntilMs) return undefined
    const times = { now: new Date(nowMs), madeAfter: new Date(nowMs - maxAgeSeconds * 1000) }
    try {
      const row = await withPatience(readAnswer(this.#options.database, place, times))
      if (!row) return undefined
      const body = await decompress(row.body, { maxOutputLength: BODY_BYTES_MAX })
      // Clocks of two nodes may differ a little.
      const ageSeconds = Math.max(0, Math.floor((nowMs - row.createdAt.getTime()) / 1000))
      return { ...row, body, ageSeconds }
    } catch (error) {
      this.#pausedUntilMs = this.#nowMs() + READ_PAUSE_MS
      this.#options.observer.unread(error)
      return undefined
    }
  }

  async #write({ answer, ttlSeconds, requestId: _, ...place }: KeepInput): Promise<void> {
    const { database, bytesMax, observer } = this.#options
    const nowMs = this.#nowMs()
    const body = await compress(answer.body)
    const bytes = body.length + ROW_BYTES
    const [createdAt, expiresAt] = [new Date(nowMs), new Date(nowMs + ttlSeconds * 1000)]
    await insertAnswer(database, { ...place, ...answer, body, bytes, createdAt, expiresAt })
    observer.stored(bytes)
    this.#addedBytes += bytes
    if (this.#addedBytes > bytesMax * EARLY_SWEEP_PART) this.#sweeping.wake()
  }
}

async function withPatience<T>(reading: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = sleep(READ_PATIENCE_MS, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error(`the database took more than ${READ_PATIENCE_MS} ms`)
  })
  // Whichever loses must not end the process.
  late.catch(() => {})
  reading.catch(() => {})
  try {
    return await Promise.race([reading, late])
  } finally {
    done.abort()
  }
}

import { type FileHandle, statfs } from 'node:fs/promises'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { Fault } from '#core/fault.ts'
import { Loop } from '#lib/loop.ts'
import { FRAME_BYTES_MAX, frameBytes, scanFrames, writeFrame } from './frame.ts'
import {
  createSegment,
  deleteSegment,
  ensureFolder,
  listSegments,
  probeDisk,
  readSegment,
  type Segment,
} from './segment.ts'

const SEGMENT_BYTES_MAX = 16 * 1024 * 1024
const BATCH_BYTES_START = 64 * 1024
/** A buffer that a burst made larger than this is not kept. */
const BATCH_BYTES_KEPT_MAX = 1024 * 1024
/** The longest that a record waits for others to share its sync. */
const GATHER_MS_MAX = 2
const HEALTH_INTERVAL_MS = 1_000
const RETRY_SECONDS = 5
/** New work is refused while there is still this much room, so that the work under way can be recorded. */
const RESERVE_BYTES_DEFAULT = 64 * 1024 * 1024

export interface JournalOptions {
  readonly folder: string
  readonly reserveBytes?: number | undefined
  onError(error: unknown, what: string): void
}

/** Records that have not been shipped yet, oldest first. */
export interface JournalBatch {
  readonly payloads: readonly Buffer[]
  /** Hand to {@link Journal.release} once they are safe elsewhere. */
  readonly end: Position
}

export interface Position {
  readonly segment: number
  readonly offset: number
}

/**
 * A node's own record of what it has served, on disk before the client has its last byte.
 *
 * - `append` resolves when the record would survive a power cut. Records that arrive while the disk is busy go out
 *   together with the next synced write: about 0.2 ms for one, and hardly more for a hundred (measured).
 * - After a failed write nothing more is promised until a fresh segment has been written and synced; the failed batch
 *   is rejected, cut off the file where possible, and work is refused meanwhile.
 * - Segments are read for shipping from the oldest on, and deleted once released. What a kill left behind is read by
 *   the next start; a torn tail is a record that nobody was promised.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #health: Loop
  #active: (Segment & { handle: FileHandle; durableBytes: number }) | undefined
  #nextNumber = 1
  #older: Segment[] = []
  #readFrom: Position = { segment: 0, offset: 0 }
  #batch = new Batch(Buffer.allocUnsafe(BATCH_BYTES_START))
  #spare: Buffer = Buffer.allocUnsafe(BATCH_BYTES_START)
  #flushing: Promise<void> | undefined
  #refusal: string | undefined
  #onAppended: () => void = () => {}

  constructor(options: JournalOptions) {
    this.#options = options
    this.#health = new Loop({
      name: 'journal health',
      intervalMs: HEALTH_INTERVAL_MS,
      runOnce: () => this.#checkHealth(),
      onError: options.onError,
    })
  }

  async open(): Promise<void> {
    await ensureFolder(this.#options.folder)
    this.#older = await listSegments(this.#options.folder)
    this.#nextNumber = (this.#older.at(-1)?.number ?? 0) + 1
    this.#readFrom = { segment: this.#older[0]?.number ?? this.#nextNumber, offset: 0 }
    await this.#beginSegment()
    await this.#checkHealth()
    this.#health.start()
  }

  /** Writes what is still waiting and closes. Segments that were released entirely are gone. */
  async close(): Promise<void> {
    await this.#health.stop()
    await this.#flushing
    const active = this.#active
    this.#active = undefined
    await active?.handle.close()
    const unread =
      active && active.durableBytes - (this.#readFrom.segment === active.number ? this.#readFrom.offset : 0)
    if (active && this.#older.length === 0 && unread === 0) await deleteSegment(active)
  }

  /** Called after records became durable: there is something to ship. */
  onAppended(listener: () => void): void {
    this.#onAppended = listener
  }

  /** Why new work must be refused now, or `undefined`. @throws Fault `service_unavailable` */
  assertAccepting(): void {
    if (this.#refusal === undefined) return
    throw new Fault('service_unavailable', 'The gateway cannot record usage at the moment; try again shortly.', {
      retryAfterSeconds: RETRY_SECONDS,
      cause: this.#refusal,
    })
  }

  get refusal(): string | undefined {
    return this.#refusal
  }

  /** @returns when the record is durable. @throws when it is not, and will not be */
  append(payload: string): Promise<void> {
    this.#batch.add(payload)
    this.#flushing ??= this.#flushAll()
    return this.#batch.promise
  }

  /** The oldest records not yet released, up to about `bytesMax`; `undefined` when there are none. */
  async read(bytesMax: number): Promise<JournalBatch | undefined> {
    for (;;) {
      const segment = this.#older[0] ?? this.#active
      if (!segment) return undefined
      const offset = segment.number === this.#readFrom.segment ? this.#readFrom.offset : 0
      const isActive = segment === this.#active
      const limit = this.#active && isActive ? this.#active.durableBytes - offset : Number.POSITIVE_INFINITY
      const { bytes, hasMore } = await readSegment(
        segment,
        offset,
        Math.min(Math.max(bytesMax, FRAME_BYTES_MAX), limit),
      )
      const scanned = scanFrames(bytes)
      if (scanned.payloads.length > 0) {
        return { payloads: scanned.payloads, end: { segment: segment.number, offset: offset + scanned.bytes } }
      }
      if (isActive) return undefined
      await this.#leaveSegment(segment, { tornBytes: bytes.length, hasMore })
    }
  }

  /** The records up to `end` are safe elsewhere and will not be read again. */
  release(end: Position): void {
    this.#readFrom = end
  }

  /** An older segment has no whole record left: it is done with. */
  async #leaveSegment(
    segment: Segment,
    { tornBytes, hasMore }: { tornBytes: number; hasMore: boolean },
  ): Promise<void> {
    if (tornBytes > 0 || hasMore) {
      this.#options.onError(new Error(`${segment.file} ends in a record that was never finished`), 'journal replay')
    }
    await deleteSegment(segment)
    this.#older.shift()
  }

  async #beginSegment(): Promise<void> {
    const segment = await createSegment(this.#options.folder, this.#nextNumber)
    this.#nextNumber += 1
    this.#active = { ...segment, durableBytes: 0 }
  }

  async #retireActive(): Promise<void> {
    const active = this.#active
    if (!active) return
    this.#active = undefined
    this.#older.push({ number: active.number, file: active.file })
    await active.handle.close()
  }

  async #flushAll(): Promise<void> {
    while (!this.#batch.isEmpty) {
      await this.#gather()
      await this.#flush()
    }
    this.#flushing = undefined
  }

  /**
   * Waits while every turn of the event loop brings another record. A sync costs 140 µs of processor time (measured):
   * a busy node spares most of them, and one with time to spare waits a turn, which is microseconds.
   */
  async #gather(): Promise<void> {
    const deadlineMs = performance.now() + GATHER_MS_MAX
    let gathered: number
    do {
      gathered = this.#batch.records
      await endOfTurn()
    } while (this.#batch.records > gathered && performance.now() < deadlineMs)
  }

  async #flush(): Promise<void> {
    const batch = this.#batch
    this.#batch = new Batch(this.#spare)
    try {
      if (this.#active && this.#active.durableBytes >= SEGMENT_BYTES_MAX) await this.#retireActive()
      if (!this.#active) await this.#beginSegment()
      await this.#write(batch.bytes)
      batch.resolve()
      this.#onAppended()
    } catch (error) {
      await this.#abandon(error)
      batch.reject(error)
    }
    this.#spare = batch.buffer.length <= BATCH_BYTES_KEPT_MAX ? batch.buffer : Buffer.allocUnsafe(BATCH_BYTES_START)
  }

  async #write(bytes: Buffer): Promise<void> {
    const active = this.#active
    if (!active) throw new Error('the journal is closed')
    let written = 0
    while (written < bytes.length) {
      const result = await active.handle.write(bytes, written, bytes.length - written, active.durableBytes + written)
      written += result.bytesWritten
    }
    active.durableBytes += bytes.length
  }

  /** After a failed write or sync the segment's tail is unknown: it is cut off, and the segment is never written again. */
  async #abandon(error: unknown): Promise<void> {
    this.#refusal = error instanceof Error ? error.message : String(error)
    this.#options.onError(error, 'journal write')
    const active = this.#active
    await active?.handle.truncate(active.durableBytes).catch(() => {})
    await this.#retireActive().catch(() => {})
  }

  /** Refuses work in time, and takes it up again when there is room and the disk does what it is told. */
  async #checkHealth(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#options.folder)
    const reserve = this.#options.reserveBytes ?? RESERVE_BYTES_DEFAULT
    if (bavail * bsize < reserve) {
      this.#refusal = `the disk of ${this.#options.folder} has less than ${reserve} bytes left`
      return
    }
    if (this.#refusal === undefined) return
    await probeDisk(this.#options.folder)
    this.#refusal = undefined
  }
}

/** Records that will be written together, and the one promise that all their owners wait on. */
class Batch {
  readonly #deferred = Promise.withResolvers<void>()
  #buffer: Buffer
  #length = 0
  #records = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get buffer(): Buffer {
    return this.#buffer
  }

  get records(): number {
    return this.#records
  }

  get isEmpty(): boolean {
    return this.#records === 0
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  get promise(): Promise<void> {
    return this.#deferred.promise
  }

  add(payload: string): void {
    const needed = this.#length + frameBytes(payload)
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    this.#length = writeFrame(this.#buffer, this.#length, payload)
    this.#records += 1
  }

  resolve(): void {
    this.#deferred.resolve()
  }

  reject(error: unknown): void {
    this.#deferred.reject(error)
  }
}

import type { ServerResponse } from 'node:http'
import type { HeaderMap, Sink, SinkWatcher } from '#core/sink.ts'

/** A reader that takes nothing for this long is cut, and its slot, upstream and memory are freed. */
const STALL_MS = 60_000
const SWEEP_MS = 5_000

/** Frees the answers whose readers have stopped reading. One sweep for all: a timer per answer would cost more. */
export class StallSweeper {
  readonly #watched = new Map<ServerResponse, { flushedBytes: number; sinceMs: number }>()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#sweep(performance.now()), SWEEP_MS).unref()
  }

  watch(response: ServerResponse): void {
    if (!this.#watched.has(response)) this.#watched.set(response, { flushedBytes: -1, sinceMs: performance.now() })
  }

  unwatch(response: ServerResponse): void {
    this.#watched.delete(response)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #sweep(nowMs: number): void {
    for (const [response, seen] of this.#watched) {
      const { socket } = response
      // `bytesWritten` counts what is queued too; what the kernel has taken is the rest.
      const flushedBytes = socket ? socket.bytesWritten - socket.writableLength : 0
      if (flushedBytes !== seen.flushedBytes) {
        seen.flushedBytes = flushedBytes
        seen.sinceMs = nowMs
      } else if (nowMs - seen.sinceMs >= STALL_MS) response.destroy()
    }
  }
}

export interface ResponseSinkOptions {
  readonly requestId: string
  /** Leave with the answer's own; what is in them when it begins. */
  readonly answerHeaders: HeaderMap
  readonly sweeper: StallSweeper
  /** The server is draining: this connection takes no further request. */
  readonly isLast: () => boolean
  /** Called when a stream begins. */
  readonly onOpened: () => void
  /** Called once, when the answer is out or the client has gone. */
  readonly onDone: (sink: ResponseSink) => void
}

/** The `Sink` over Node's `ServerResponse`. */
export class ResponseSink implements Sink {
  readonly #response: ServerResponse
  readonly #options: ResponseSinkOptions
  #watcher: SinkWatcher | undefined
  /** 0 until an answer has begun. */
  status = 0
  bodyBytes = 0

  constructor(response: ServerResponse, options: ResponseSinkOptions) {
    this.#response = response
    this.#options = options
    response.on('close', () => this.#closed())
    // A write to a connection that the client has reset emits an error; `close` follows and says all there is to say.
    response.on('error', () => {})
  }

  get isOpen(): boolean {
    return this.#response.headersSent && !this.#response.writableEnded
  }

  get isGone(): boolean {
    return this.#response.closed && !this.#response.writableFinished
  }

  send(status: number, headers: HeaderMap, body: Uint8Array): void {
    this.#writeHead(status, headers, body.length)
    this.end(body)
  }

  open(status: number, headers: HeaderMap): void {
    this.#options.onOpened()
    this.#writeHead(status, headers)
    // Deltas are small and wanted at once.
    this.#response.socket?.setNoDelay(true)
    this.#response.on('drain', () => {
      this.#options.sweeper.unwatch(this.#response)
      this.#watcher?.drained()
    })
  }

  write(bytes: Uint8Array): boolean {
    if (this.#response.destroyed) return true
    this.bodyBytes += bytes.length
    const keepsUp = this.#response.write(bytes)
    if (!keepsUp) this.#options.sweeper.watch(this.#response)
    return keepsUp
  }

  end(bytes?: Uint8Array): void {
    this.bodyBytes += bytes?.length ?? 0
    this.#response.end(bytes)
    if (this.#response.writableLength > 0) this.#options.sweeper.watch(this.#response)
  }

  destroy(): void {
    this.#response.destroy()
  }

  watch(watcher: SinkWatcher | undefined): void {
    this.#watcher = watcher
  }

  #writeHead(status: number, headers: HeaderMap, length?: number): void {
    this.status = status
    const { requestId, answerHeaders } = this.#options
    const list = ['x-request-id', requestId, 'request-id', requestId]
    for (const name in answerHeaders) list.push(name, answerHeaders[name] as string)
    for (const name in headers) list.push(name, headers[name] as string)
    if (length !== undefined) list.push('content-length', String(length))
    if (this.#options.isLast()) list.push('connection', 'close')
    this.#response.writeHead(status, list)
  }

  #closed(): void {
    this.#options.sweeper.unwatch(this.#response)
    const watcher = this.#watcher
    this.#watcher = undefined
    if (!this.#response.writableFinished) watcher?.gone()
    this.#options.onDone(this)
  }
}

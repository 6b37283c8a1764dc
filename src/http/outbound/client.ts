import { type Dispatcher, Pool } from 'undici'
import { failureOf, type OutboundFailure } from './failure.ts'

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  /** A promise where they have to be made first, as credentials that are fetched; its rejection sends nothing. */
  readonly headers: RequestHeaders | Promise<RequestHeaders>
  readonly body?: Uint8Array
  /** Connections are shared only within one scope: two accounts of one host never wait on each other's socket. */
  readonly scope: string
  readonly timeouts: OutboundTimeouts
}

export type RequestHeaders = Readonly<Record<string, string>>

export interface OutboundTimeouts {
  /** DNS, TCP and TLS together. */
  readonly connectMs: number
  /** From the request's last byte to the answer's headers. */
  readonly firstByteMs: number
  /** Between two pieces of the answer; a reader's own slowness does not count. */
  readonly idleMs: number
}

/** Told what happens, in this order: `started`, any `data`, then `ended` or `failed`. `failed` may come at any point. */
export interface OutboundObserver {
  started(status: number, headers: ResponseHeaders): void
  data(chunk: Buffer): void
  ended(): void
  failed(failure: OutboundFailure): void
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** A hold on a request under way. */
export interface Outgoing {
  pause(): void
  resume(): void
  /** Closes the connection; nothing more is reported. */
  abort(): void
}

/** How long an unused connection is kept. Servers close theirs after 5 s or more; a shorter time here loses no race. */
const KEEP_ALIVE_MS = 4_000
/** Connections are renewed after this, so that a change of DNS is followed. */
const CONNECTION_LIFE_MS = 5 * 60_000

/**
 * Calls upstreams over pooled HTTP/1.1 connections, one request at a time on each. Built on undici's dispatcher:
 * `fetch` would cost six times the CPU (measured, design §1).
 */
export class OutboundClient {
  readonly #pools = new Map<string, Pool>()

  send(request: OutboundRequest, observer: OutboundObserver): Outgoing {
    const exchange = new OutboundExchange(observer)
    const { headers } = request
    if (headers instanceof Promise) {
      headers.then(
        ready => this.#dispatch(request, ready, exchange),
        error => exchange.refuse(error),
      )
    } else this.#dispatch(request, headers, exchange)
    return exchange
  }

  #dispatch(request: OutboundRequest, headers: RequestHeaders, exchange: OutboundExchange): void {
    if (exchange.isOver) return
    const { url, method, body = null, timeouts } = request
    this.#pool(request).dispatch(
      {
        path: url.pathname + url.search,
        method,
        headers: headers as Record<string, string>,
        body,
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      },
      exchange,
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.destroy()))
    this.#pools.clear()
  }

  #pool({ url, scope, timeouts }: OutboundRequest): Pool {
    const key = `${scope} ${url.origin} ${timeouts.connectMs}`
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new Pool(url.origin, {
      pipelining: 1,
      allowH2: false,
      connect: { timeout: timeouts.connectMs },
      keepAliveTimeout: KEEP_ALIVE_MS,
      clientTtl: CONNECTION_LIFE_MS,
    })
    this.#pools.set(key, pool)
    return pool
  }
}

/** undici's view of one request, turned into ours. */
class OutboundExchange implements Dispatcher.DispatchHandler, Outgoing {
  readonly #observer: OutboundObserver
  #controller: Dispatcher.DispatchController | undefined
  #isOver = false

  constructor(observer: OutboundObserver) {
    this.#observer = observer
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Nothing is sent, because its headers could not be made. */
  refuse(cause: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#observer.failed({ kind: 'credential', wasSent: false, cause })
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    // Still queued for a connection: `onRequestStart` will find that it is over and send nothing.
    this.#controller?.abort(ABORTED)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(ABORTED)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // An interim answer (100, 103) precedes the real one.
    if (status >= 200 && !this.#isOver) this.#observer.started(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#observer.data(chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#observer.ended()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#observer.failed(failureOf(error, { wasSent: this.#controller !== undefined }))
  }
}

const ABORTED = new Error('aborted by the gateway')

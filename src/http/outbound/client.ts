import { LRUCache } from 'lru-cache'
import { type Dispatcher, Pool } from 'undici'
import { failureOf, type OutboundFailure } from './failure.ts'
import { ForbiddenDestination, type OutboundGuard } from './guard.ts'

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  /** A promise where they have to be made first, as credentials that are fetched; its rejection sends nothing. */
  readonly headers: RequestHeaders | Promise<RequestHeaders>
  readonly body?: Uint8Array
  /** Connections are shared only within one scope: two accounts of one host never wait on each other's socket. */
  readonly scope: string
  readonly timeouts: OutboundTimeouts
  /** A customer named the address: it is reached only where the guard finds it fit. */
  readonly isGuarded?: boolean
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
/** Customers bring accounts of their own, any number of them over time. */
const POOLS_MAX = 5_000

/**
 * Calls upstreams over pooled HTTP/1.1 connections, one request at a time on each. Built on undici's dispatcher:
 * `fetch` would cost six times the CPU (measured, design §1).
 */
export class OutboundClient {
  /** One that is dropped ends when the requests under way on it have ended. */
  readonly #pools = new LRUCache<string, Pool>({ max: POOLS_MAX, dispose: pool => void pool.close().catch(() => {}) })
  readonly #guard: OutboundGuard | undefined

  /** @param guard judges the addresses that customers name; without one they are all refused */
  constructor(guard?: OutboundGuard) {
    this.#guard = guard
  }

  send(request: OutboundRequest, observer: OutboundObserver): Outgoing {
    const exchange = new OutboundExchange(observer)
    const { url, headers } = request
    const objection = request.isGuarded && this.#objectionTo(url)
    if (objection) {
      queueMicrotask(() => exchange.refuse('forbidden', new ForbiddenDestination(`${url.origin} ${objection}`)))
    } else if (headers instanceof Promise) {
      headers.then(
        ready => this.#dispatch(request, ready, exchange),
        error => exchange.refuse('credential', error),
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
    await Promise.all(Array.from(this.#pools.values(), pool => pool.destroy()))
    this.#pools.clear()
  }

  #objectionTo(url: URL): string | undefined {
    return this.#guard ? this.#guard.objectionTo(url) : 'was named by a customer, and nobody judges such here'
  }

  #pool({ url, scope, timeouts, isGuarded = false }: OutboundRequest): Pool {
    const key = `${scope} ${url.origin} ${timeouts.connectMs} ${isGuarded}`
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new Pool(url.origin, {
      pipelining: 1,
      allowH2: false,
      connect: (isGuarded && this.#guard?.connector(timeouts.connectMs)) || { timeout: timeouts.connectMs },
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

  /** Nothing was sent, and nothing will be. */
  refuse(kind: 'forbidden' | 'credential', cause: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#observer.failed({ kind, wasSent: false, cause })
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

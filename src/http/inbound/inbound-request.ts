import type { IncomingMessage } from 'node:http'
import type { Sink } from '#core/sink.ts'
import type { Inbound, RequestHeaders } from './route.ts'

const EMPTY = Buffer.alloc(0)

/** What the server knows of a request beside what Node does. */
interface Known {
  readonly id: string
  readonly method: string
  readonly path: string
  /** As it was sent, without the question mark. */
  readonly query: string
  readonly params: Readonly<Record<string, string>>
  readonly receivedAtMs: number
  readonly sink: Sink
  readonly answerHeaders: Record<string, string>
  readonly facts: Record<string, unknown>
}

/**
 * The `Inbound` of Node's request.
 *
 * A class for the sake of its getter: one in an object literal gives every object a hidden class of its own, which
 * keeps the request alive until the next full collection.
 */
export class InboundRequest implements Inbound {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly headers: RequestHeaders
  readonly remoteAddress: string
  readonly receivedAtMs: number
  readonly sink: Sink
  readonly answerHeaders: Record<string, string>
  readonly facts: Record<string, unknown>
  body: Buffer = EMPTY
  readonly #query: string

  constructor(request: IncomingMessage, known: Known) {
    this.id = known.id
    this.method = known.method
    this.path = known.path
    this.params = known.params
    this.headers = request.headers
    this.remoteAddress = request.socket.remoteAddress ?? ''
    this.receivedAtMs = known.receivedAtMs
    this.sink = known.sink
    this.answerHeaders = known.answerHeaders
    this.facts = known.facts
    this.#query = known.query
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query)
  }
}

import type { TSchema } from 'typebox'
import type { Fault } from '#core/fault.ts'
import type { HeaderMap, Sink } from '#core/sink.ts'

/** One request, as handlers see it. */
export interface Inbound {
  /** `req_…`; sent back as `x-request-id`. */
  readonly id: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** By the names in the route's path; a wildcard's match is `*`. Percent-decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly headers: RequestHeaders
  /** The peer's address: the client's, or that of the last proxy before us. */
  readonly remoteAddress: string
  /** Whole and unparsed; empty where the route takes none. */
  readonly body: Buffer
  /** `performance.now()` when the headers were in. */
  readonly receivedAtMs: number
  readonly sink: Sink
  /** Headers that the answer has whatever it will be, errors too; whoever learns something adds it. */
  readonly answerHeaders: Record<string, string>
  /** Fields for the request's log line; whoever learns something adds it. */
  readonly facts: Record<string, unknown>
}

/** Lower-case names; a repeated header is joined as Node joins it. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * One row of a route table: everything that the server, the documentation and the tests need to know of an endpoint.
 *
 * @typeParam C what `authorize` establishes about the caller
 */
export interface Route<C = undefined> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/v1/models/:model`; a trailing `*` takes the rest of the path, slashes included. */
  readonly path: string
  /** Largest body in bytes; 0 takes none. */
  readonly bodyBytesMax: number
  /** Runs before the body is read, so that a stranger cannot make the server hold it. Throws a `Fault` to refuse. */
  authorize(request: Inbound): C | Promise<C>
  /** Answers through `request.sink`, or throws a `Fault` before it has begun to. */
  handle(request: Inbound, caller: C): void | Promise<void>
  /** How this route's family words a fault; the gateway's own error object unless given. */
  readonly encodeFault?: (fault: Fault, request: Inbound) => { status: number; body: unknown }
  /** Asked by machines all day long: logged at `debug` only. */
  readonly isQuiet?: true
  readonly docs: RouteDocs
}

/** What the OpenAPI document says of a route. */
export interface RouteDocs {
  readonly tag: string
  readonly summary: string
  readonly security: 'api-key' | 'management-token' | 'none'
  readonly query?: TSchema
  readonly body?: TSchema
  /** 200 unless given. */
  readonly successStatus?: 201
  /** The answer on success. */
  readonly response?: TSchema
  /** Of the answer where it is not JSON. */
  readonly contentType?: string
  readonly isStreamable?: true
  /** Error statuses that callers should expect, beside 500. */
  readonly errors: readonly number[]
}

/** A row whose caller type no longer matters, for tables of unlike routes. */
export type AnyRoute = Route<never>

/** Checks a row's types and forgets its caller type. */
export function defineRoute<C>(route: Route<C>): AnyRoute {
  return route as unknown as AnyRoute
}

const JSON_HEADERS: HeaderMap = { 'content-type': 'application/json' }

export function sendJson(sink: Sink, status: number, body: unknown, headers: HeaderMap = {}): void {
  sink.send(status, { ...JSON_HEADERS, ...headers }, Buffer.from(JSON.stringify(body)))
}

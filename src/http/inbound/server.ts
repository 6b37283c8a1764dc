import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { errorBody, Fault, faultHeaders } from '#core/fault.ts'
import { newId } from '#lib/ids.ts'
import { BodyReader } from './body.ts'
import { framingFault, hasBody } from './guard.ts'
import { InboundRequest } from './inbound-request.ts'
import { refuseTunnel, refuseUnparsed, refuseUpgrade } from './refuse-connection.ts'
import { ResponseSink, StallSweeper } from './response-sink.ts'
import { type AnyRoute, type Inbound, type Route, sendJson } from './route.ts'
import { unknownRoute } from './unknown-route.ts'

const HEADERS_MAX = 100
const HEADER_BYTES_MAX = 16_384
const HEADERS_TIMEOUT_MS = 10_000
/** Longer than the idle limit of common load balancers (60 s), so that they close first and lose no request. */
const KEEP_ALIVE_MS = 72_000
const PARAMETER_LENGTH_MAX = 512

export interface ServerOptions {
  readonly routes: readonly AnyRoute[]
  /** OpenAPI document, shown at `/docs`. */
  readonly document: object
  /** Told of every request that reached a route, once its answer is out or its client gone. */
  onCompleted(completed: Completed): void
}

/** What is known of a request when it is over. */
export interface Completed {
  readonly requestId: string
  /** The client's own `x-request-id`, unverified. */
  readonly clientRequestId: string | undefined
  readonly method: string
  /** The route's pattern, never the path: paths carry ids and may carry secrets. */
  readonly route: string
  readonly isQuiet: boolean
  /** 0: the client went away before an answer began. */
  readonly status: number
  readonly isGone: boolean
  readonly bodyBytes: number
  readonly durationMs: number
  readonly fault: Fault | undefined
  readonly facts: Readonly<Record<string, unknown>>
}

/** The name above the reference, in place of the library's. */
const LOGO = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><text x="0" y="29" fill="#fff" font-size="26" ' +
    'font-weight="600" font-family="system-ui, sans-serif">Tollgate</text></svg>',
)

/** The listening HTTP server: its guards, its routes, and how it drains. */
export class InboundServer {
  readonly #app: FastifyInstance
  readonly #options: ServerOptions
  readonly #bodies = new BodyReader()
  readonly #sweeper = new StallSweeper()
  /** Connections on which a request was refused for its framing: whatever follows there is not looked at. */
  readonly #condemned = new WeakSet<Socket>()
  /** Connections with a stream under way, into which no other bytes may be written. */
  readonly #streaming = new WeakSet<Socket>()
  #isDraining = false
  #open = 0
  #whenIdle: (() => void) | undefined

  constructor(options: ServerOptions) {
    this.#options = options
    this.#app = fastify({
      routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
      serverFactory: handler => this.#createServer(handler),
      clientErrorHandler: (error, socket) => {
        if (this.#streaming.has(socket as Socket)) socket.destroy()
        // One refusal is enough; the connection closes behind it.
        else if (!this.#condemned.has(socket as Socket)) refuseUnparsed(error, socket as Socket)
      },
      frameworkErrors: (_error, request, reply) =>
        this.#refuse(request, reply, new Fault('invalid_request', 'The URL is malformed.')),
    })
    // Bodies are read by the routes themselves, after their caller is known.
    this.#app.removeAllContentTypeParsers()
    this.#app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    this.#app.register(async docs => {
      docs.addHook('onSend', async (_request, reply) => {
        const id = newId('req')
        reply.headers({ 'x-request-id': id, 'request-id': id })
      })
      docs.register(swagger, { mode: 'static', specification: { document: options.document as never } })
      docs.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: true,
        logo: { type: 'image/svg+xml', content: LOGO },
        theme: { title: 'Tollgate API' },
        uiConfig: { tryItOutEnabled: true },
      })
    })
    for (const route of options.routes) this.#addRoute(route as unknown as Route<unknown>)
    this.#app.setNotFoundHandler((request, reply) => {
      const { fault, allow } = unknownRoute(options.routes, request.method, request.url)
      this.#refuse(request, reply, fault, allow === undefined ? {} : { allow })
    })
    // What the framework itself refuses, a malformed `Content-Type` for one.
    this.#app.setErrorHandler<FastifyError>((error, request, reply) => {
      const isCallers = error.statusCode !== undefined && error.statusCode < 500
      const fault = isCallers
        ? new Fault('invalid_request', `The request is malformed: ${error.message}.`)
        : Fault.from(error)
      this.#refuse(request, reply, fault)
    })
  }

  /** @returns the port, which matters when 0 was asked for. @throws Error with code `EADDRINUSE` when it is taken */
  async listen({ host, port }: { host: string; port: number }): Promise<number> {
    await this.#app.listen({ host, port })
    return (this.#app.server.address() as AddressInfo).port
  }

  /** Answers under way. */
  get openCount(): number {
    return this.#open
  }

  /** Takes no new connection and no further request on old ones; resolves when all answers are out. */
  async drain(): Promise<void> {
    this.#isDraining = true
    this.#app.server.close()
    this.#app.server.closeIdleConnections()
    if (this.#open > 0) await new Promise<void>(resolve => (this.#whenIdle = resolve))
  }

  /** Closes what is still open, at once. */
  async close(): Promise<void> {
    this.#app.server.closeAllConnections()
    this.#bodies.close()
    this.#sweeper.close()
    await this.#app.close()
  }

  #createServer(handler: http.RequestListener): http.Server {
    const guarded: http.RequestListener = (request, response) => {
      // Pipelined requests are parsed before the refusal of the one before them has closed the connection.
      if (this.#condemned.has(request.socket)) return
      const fault = framingFault(request, HEADERS_MAX)
      if (fault) {
        this.#condemned.add(request.socket)
        respondPlainly(response, fault, { connection: 'close' })
      } else handler(request, response)
    }
    const server = http.createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: HEADERS_TIMEOUT_MS,
        // A whole request may take as long as it keeps moving: the body reader has a minimum rate instead.
        requestTimeout: 0,
        connectionsCheckingInterval: 2_000,
        keepAliveTimeout: KEEP_ALIVE_MS,
        // The guard asks for it, so that its absence is answered in our words.
        requireHostHeader: false,
        insecureHTTPParser: false,
      },
      guarded,
    )
    server.maxHeadersCount = HEADERS_MAX
    // Without this listener Node invites the body before anyone has looked at its size.
    server.on('checkContinue', guarded)
    server.on('checkExpectation', guarded)
    server.on('upgrade', (_request, socket) => refuseUpgrade(socket as Socket))
    server.on('connect', (_request, socket) => refuseTunnel(socket as Socket))
    return server
  }

  /** A refusal without a route. Its body must not keep the connection for as long as its sender likes. */
  #refuse(request: FastifyRequest, reply: FastifyReply, fault: Fault, headers: Record<string, string> = {}): void {
    reply.hijack()
    respondPlainly(reply.raw, fault, headers)
    if (hasBody(request.raw) && !request.raw.complete) this.#bodies.discard(request.raw)
  }

  #addRoute(route: Route<unknown>): void {
    this.#app.route({
      method: route.method,
      url: route.path,
      handler: (request, reply) => {
        reply.hijack()
        const query = request.url.indexOf('?')
        void this.#serve(route, request.raw, reply.raw, {
          path: query === -1 ? request.url : request.url.slice(0, query),
          query: query === -1 ? '' : request.url.slice(query + 1),
          params: request.params as Record<string, string>,
        })
      },
    })
  }

  async #serve(
    route: Route<unknown>,
    request: http.IncomingMessage,
    response: http.ServerResponse,
    { path, query, params }: { path: string; query: string; params: Record<string, string> },
  ): Promise<void> {
    const receivedAtMs = performance.now()
    const id = newId('req')
    const answerHeaders: Record<string, string> = {}
    const facts: Record<string, unknown> = {}
    let fault: Fault | undefined
    this.#open += 1
    const sink = new ResponseSink(response, {
      requestId: id,
      answerHeaders,
      sweeper: this.#sweeper,
      isLast: () => this.#isDraining,
      onOpened: () => this.#streaming.add(request.socket),
      onDone: done => {
        this.#streaming.delete(request.socket)
        this.#completed(route, request, { requestId: id, facts, fault, done, receivedAtMs })
      },
    })
    const inbound = new InboundRequest(request, {
      id,
      method: route.method,
      path,
      query,
      params,
      receivedAtMs,
      sink,
      answerHeaders,
      facts,
    })
    try {
      const caller = await route.authorize(inbound)
      if (hasBody(request)) inbound.body = await this.#bodies.read(request, response, route.bodyBytesMax)
      await route.handle(inbound, caller)
    } catch (error) {
      fault = Fault.from(error)
      if (!request.complete) this.#bodies.discard(request)
      refuse(route, sink, { fault, inbound })
    }
  }

  #completed(
    route: Route<unknown>,
    request: http.IncomingMessage,
    over: {
      requestId: string
      facts: Record<string, unknown>
      fault: Fault | undefined
      done: ResponseSink
      receivedAtMs: number
    },
  ): void {
    const clientRequestId = request.headers['x-request-id']
    this.#options.onCompleted({
      requestId: over.requestId,
      clientRequestId: typeof clientRequestId === 'string' ? clientRequestId.slice(0, 128) : undefined,
      method: route.method,
      route: route.path,
      isQuiet: route.isQuiet === true,
      status: over.done.status,
      isGone: over.done.isGone,
      bodyBytes: over.done.bodyBytes,
      durationMs: performance.now() - over.receivedAtMs,
      fault: over.fault,
      facts: over.facts,
    })
    this.#open -= 1
    if (this.#open === 0) this.#whenIdle?.()
  }
}

/** The refusal in the route's own family; a connection already answering is cut instead. */
function refuse(
  route: Route<unknown>,
  sink: ResponseSink,
  { fault, inbound }: { fault: Fault; inbound: Inbound },
): void {
  if (sink.status !== 0) return sink.destroy()
  const { status, body } = route.encodeFault?.(fault, inbound) ?? { status: fault.status, body: errorBody(fault) }
  sendJson(sink, status, body, faultHeaders(fault))
}

/** A refusal before any route is known. */
function respondPlainly(response: http.ServerResponse, fault: Fault, headers: Record<string, string> = {}): void {
  const id = newId('req')
  const body = Buffer.from(JSON.stringify(errorBody(fault)))
  response.writeHead(fault.status, {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-request-id': id,
    'request-id': id,
    ...headers,
  })
  response.end(body)
}

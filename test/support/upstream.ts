import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What the upstream was asked. */
export interface SeenRequest {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly body: Record<string, unknown>
  /** Resolves when the peer has closed the connection. */
  readonly closed: Promise<void>
}

export type Script = (request: SeenRequest, response: http.ServerResponse, socket: Socket) => void | Promise<void>

/** An upstream whose every byte is scripted, for what no mock of a provider would do. */
export class ScriptedUpstream {
  readonly #server: http.Server
  readonly seen: SeenRequest[] = []
  script: Script

  private constructor(script: Script) {
    this.script = script
    this.#server = http.createServer((request, response) => void this.#serve(request, response))
  }

  static async start(script: Script = answerWhole()): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream(script)
    await new Promise<void>(resolve => upstream.#server.listen(0, '127.0.0.1', resolve))
    return upstream
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const { socket } = request
    // One watcher for each request of a kept-alive connection.
    socket.setMaxListeners(0)
    const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
    const seen = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text || '{}'), closed }
    this.seen.push(seen)
    await this.script(seen, response, socket)
  }
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

export function completion(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    ...fields,
  }
}

export function chunk(delta: Record<string, unknown>, fields: Record<string, unknown> = {}): string {
  return event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
    ...fields,
  })
}

export function lastChunk(): string {
  return chunk({}, { choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] })
}

export function usageChunk(usage: Record<string, unknown> = USAGE): string {
  return chunk({}, { choices: [], usage })
}

export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

/** A whole answer, or a stream of the given words, as the request asks. */
export function answerWhole({
  words = ['Hel', 'lo'],
  fields = {},
}: {
  words?: string[]
  fields?: Record<string, unknown>
} = {}): Script {
  return ({ body }, response) => {
    if (body.stream !== true) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(completion(fields)))
      return
    }
    response.setHeader('content-type', 'text/event-stream')
    response.write(chunk({ role: 'assistant', content: '' }))
    for (const word of words) response.write(chunk({ content: word }))
    response.write(lastChunk())
    response.end(usageChunk() + DONE)
  }
}

/** For upstreams that fail in one test and must be asked in the next one all the same. */
export const UNEJECTING = 'routing: { ejection: false, retry_share: 1 }'

/** For suites that ask more often than an organization may by default. */
export const UNHURRIED = 'limits: { requests_per_minute: { user: 1000000, partner: 1000000, vip: 1000000 } }'

/** A configuration with one chat and one embedding model behind `url`. */
export function configFor(url: string, extra = ''): string {
  return `
channels:
  - { id: main, provider: openai, base_url: "${url}/v1", api_key: sk-upstream-secret }
models:
  - id: test-chat
    vendor: acme
    scene: chat
    context_length: 100000
    max_output_tokens: 1000
    price: { input: "1", output: "2", cache_read: "0.5", per: 1M }
    offers: [{ channel: main, upstream_model: upstream-model }]
  - id: test-embedding
    vendor: acme
    scene: embedding
    price: { input: "0.1", per: 1M }
    offers: [{ channel: main, upstream_model: upstream-embedding }]
${extra}`
}

import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type FixtureResponse, LLMock } from '@copilotkit/aimock'
import { FORMATS, type Format } from '../conversation.ts'
import type { Asked } from './asked.ts'
import { DIALECTS } from './index.ts'

const USAGE = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52, input_tokens: 40, output_tokens: 12 }

/** The answers of two fixtures, as aimock gives them. */
export const LIVE: Readonly<Record<string, FixtureResponse>> = {
  words: { content: 'Grüße aus dem Gateway: 12 < 13, "quoted", and a snowman ☃.', usage: USAGE },
  'tool-call': { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Zürich","days":3}' }], usage: USAGE },
}

export const FIXTURES = path.resolve(import.meta.dirname, '../../fixtures')

/** What an upstream answers, to the byte. */
export function fixtureOf(format: Format, fixture: string, isStream: boolean): string {
  return readFileSync(path.join(FIXTURES, format, `${fixture}.${isStream ? 'sse' : 'json'}`), 'utf8')
}

/** One request, as the upstream saw it. */
export interface Seen {
  readonly format: Format
  readonly asked: Asked
  readonly text: string
  /** Resolves when the peer has closed the connection. */
  readonly closed: Promise<void>
}

/**
 * Every provider in one server. The model's name says what is answered: a fixture's name; `<fixture>_cut`: the first
 * half of its stream and then a reset; `<fixture>_hang`: the first half and then silence, of a whole answer nothing at
 * all. A name that begins with `live-` is answered by aimock, there and then.
 */
export class Provider {
  readonly #server = http.createServer((request, response) => void this.#serve(request, response))
  readonly #mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
  readonly #seen: Seen[] = []
  readonly #waiting = new Map<string, (seen: Seen) => void>()

  static async start(): Promise<Provider> {
    const provider = new Provider()
    for (const [name, response] of Object.entries(LIVE)) {
      provider.#mock.addFixture({ match: { model: `live-${name}` }, response, chunkSize: 4 })
    }
    await provider.#mock.start()
    await new Promise<void>(resolve => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The requests that hold `words`, in their order. */
  seen(words: string): Seen[] {
    return this.#seen.filter(({ text }) => text.includes(words))
  }

  /** The next request that holds `words`. */
  nextSeen(words: string): Promise<Seen> {
    return new Promise(resolve => this.#waiting.set(words, resolve))
  }

  async stop(): Promise<void> {
    await this.#mock.stop()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const { url = '', socket } = request
    const format = FORMATS.find(each => DIALECTS[each].path.test(url))
    if (!format) return void response.writeHead(404).end(`nothing is served at ${url}`)
    const asked = DIALECTS[format].read(JSON.parse(text), url)
    socket.setMaxListeners(0)
    const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
    const seen = { format, asked, text, closed }
    this.#seen.push(seen)
    for (const [words, resolve] of this.#waiting) if (text.includes(words)) resolve(seen)
    const [fixture = '', ending] = asked.model.split('_')
    if (fixture.startsWith('live-')) return this.#askMock(url, text, response)
    const error = path.join(FIXTURES, format, `${fixture}.error.json`)
    if (existsSync(error)) return sendError(response, readFileSync(error, 'utf8'))
    const answer = fixtureOf(format, fixture, asked.isStream)
    if (asked.isStream) sendStream(response, answer, ending)
    else if (ending === undefined) sendWhole(response, answer)
  }

  async #askMock(url: string, body: string, response: http.ServerResponse): Promise<void> {
    const answer = await fetch(this.#mock.url + url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk', 'x-api-key': 'sk' },
      body,
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    for await (const chunk of answer.body ?? []) response.write(chunk)
    response.end()
  }
}

/** @param say what the body says, in the words of a host that has its own */
export function sendError(response: http.ServerResponse, fixture: string, say = (body: unknown) => body): void {
  const { status, headers, body } = JSON.parse(fixture)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(say(body)))
}

export function sendWhole(response: http.ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body)
}

/** What the events of a stream travel in. */
export interface StreamFraming {
  readonly contentType: string
  /** @param event as it is written among server-sent events, with its empty line */
  frame(event: string): Uint8Array
}

const SERVER_SENT_EVENTS: StreamFraming = { contentType: 'text/event-stream', frame: event => Buffer.from(event) }

export function sendStream(
  response: http.ServerResponse,
  stream: string,
  ending: string | undefined,
  { contentType, frame }: StreamFraming = SERVER_SENT_EVENTS,
): void {
  response.writeHead(200, { 'content-type': contentType })
  const frames = stream.split(/(?<=\r?\n\r?\n)/).map(frame)
  if (ending === undefined) return void response.end(Buffer.concat(frames))
  response.write(Buffer.concat(frames.slice(0, Math.ceil(frames.length / 2))), () => {
    if (ending === 'cut') response.socket?.resetAndDestroy()
  })
}

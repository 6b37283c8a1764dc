import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { LLMock } from '@copilotkit/aimock'
import type { Asked } from '../matrix/upstreams/asked.ts'
import type { Json } from '../matrix/upstreams/dialect.ts'
import { DIALECTS } from '../matrix/upstreams/index.ts'
import { FIXTURES, fixtureOf, LIVE, sendError, sendStream, sendWhole } from '../matrix/upstreams/provider.ts'
import { type ChatTarget, type EmbeddingsTarget, nameOf, type Target } from './target.ts'

/** One request, as a provider saw it. */
export interface Seen {
  readonly target: string
  readonly path: string
  readonly body: Json
  readonly asked: Asked | undefined
}

export const VECTORS = [
  [0.5, -1.25],
  [0, 2],
] as const

/**
 * Every provider in one server, each under a path of its name, as strict as its documentation: another path is 404, another
 * key 401, a word that it does not know 400. The model's name says what is answered: a fixture's name; `status-<n>`;
 * `<fixture>_cut`: half a stream and then a reset; `live-<fixture>`: what aimock answers, there and then.
 */
export class Host {
  readonly #targets: ReadonlyMap<string, Target>
  readonly #server = http.createServer((request, response) => {
    // What cannot be read as the provider would read it fails the check, and not the whole run.
    this.#serve(request, response).catch(error => refuse(response, 400, String(error)))
  })
  readonly #mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
  readonly #seen: Seen[] = []

  constructor(targets: readonly Target[]) {
    this.#targets = new Map(targets.map(target => [nameOf(target), target]))
  }

  async start(): Promise<void> {
    for (const [name, response] of Object.entries(LIVE)) {
      this.#mock.addFixture({ match: { model: `live-${name}` }, response, chunkSize: 4 })
    }
    await this.#mock.start()
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  async stop(): Promise<void> {
    await this.#mock.stop()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The requests that hold `words`, in their order. */
  seen(words: string): Seen[] {
    return this.#seen.filter(({ body }) => JSON.stringify(body).includes(words))
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body: Json = JSON.parse((await readText(request)) || '{}')
    const [, name = '', below = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const target = this.#targets.get(name)
    const token = target?.giveToken?.(below, request.headers)
    if (token) return sendWhole(response, JSON.stringify(token))
    if (!target?.isAuthorized(request.headers)) return refuse(response, 401, 'the key is not shown as it must be')
    const { chat, embeddings } = target
    const isChat = chat !== undefined && [chat.path, chat.streamPath].some(each => each && matches(each, below))
    const asked = isChat ? readChat(chat, body, below) : undefined
    this.#seen.push({ target: name, path: below, body, asked })
    if (chat && asked) return await this.#answerChat(chat, { body, asked, below, response })
    if (embeddings && matches(embeddings.path, below)) return answerEmbeddings(embeddings, body, response)
    refuse(response, 404, `nothing is served at ${below}`)
  }

  async #answerChat(chat: ChatTarget, { body, asked, below, response }: Question): Promise<void> {
    const unknown = unknownIn(body, chat)
    if (unknown !== undefined) return refuse(response, 400, `${unknown} is not known here`)
    const [fixture = '', ending] = asked.model.split('_')
    if (fixture.startsWith('live-')) return await this.#askMock(chat, { body, asked, below, response })
    const [, status] = /^status-(\d+)$/.exec(fixture) ?? []
    if (status) return refuse(response, Number(status), 'it does not go')
    const error = path.join(FIXTURES, chat.format, `${fixture}.error.json`)
    if (existsSync(error)) return sendError(response, readFileSync(error, 'utf8'), chat.say)
    const answer = fixtureOf(chat.format, fixture, asked.isStream)
    if (asked.isStream) sendStream(response, answer, ending, chat.framing)
    else sendWhole(response, answer)
  }

  async #askMock({ format, mockPath }: ChatTarget, { body, asked, below, response }: Question): Promise<void> {
    const { model, isStream: stream } = asked
    const named = format === 'generate-content' ? {} : { model, stream }
    // Hosts that take no stream options count unasked.
    const counted = format === 'chat-completions' && stream && { stream_options: { include_usage: true } }
    const usual = format === 'chat-completions' ? '/v1/chat/completions' : DIALECTS[format].basePath + below
    const url = mockPath?.(below) ?? usual
    const answer = await fetch(this.#mock.url + url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk', 'x-api-key': 'sk' },
      body: JSON.stringify({ ...body, ...named, ...counted }),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    for await (const chunk of answer.body ?? []) response.write(chunk)
    response.end()
  }
}

interface Question {
  readonly body: Json
  readonly asked: Asked
  readonly below: string
  readonly response: http.ServerResponse
}

function readChat({ format, read = DIALECTS[format].read }: ChatTarget, body: Json, below: string): Asked {
  return read(body, DIALECTS[format].basePath + below)
}

function answerEmbeddings({ refuses = [], answer }: EmbeddingsTarget, body: Json, response: http.ServerResponse): void {
  const unknown = refuses.find(field => field in body)
  if (unknown !== undefined) return refuse(response, 400, `${unknown} is not known here`)
  sendWhole(response, JSON.stringify(answer(VECTORS, body)))
}

function unknownIn(body: Json, { refuses = {} }: ChatTarget): string | undefined {
  const { fields = [], messageFields = [], roles = [], outputs = [], tools = [], toolIds = /^/ } = refuses
  const messages: readonly Json[] = body.messages ?? []
  return (
    fields.find(field => field in body) ??
    messages.flatMap(message => messageFields.find(field => field in message) ?? [])[0] ??
    messages.find(({ role }) => roles.includes(role))?.role ??
    outputs.find(type => body.response_format?.type === type) ??
    tools.find(type => body.tools?.some((tool: Json) => tool.type === type)) ??
    messages.flatMap(({ tool_call_id: id }) => (id === undefined || toolIds.test(id) ? [] : [id]))[0]
  )
}

function matches(pattern: string, url: string): boolean {
  const [before = '', after] = pattern.split('{model}')
  return after === undefined ? url === pattern : url.startsWith(before) && url.endsWith(after)
}

function refuse(response: http.ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...(status === 503 && { 'retry-after': '7' }) })
    .end(JSON.stringify({ error: { message, type: 'refused', code: null } }))
}

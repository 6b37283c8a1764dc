import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import {
  answerWhole,
  chunk,
  completion,
  DONE,
  event,
  lastChunk,
  type Script,
  ScriptedUpstream,
  UNEJECTING,
  usageChunk,
} from '../support/upstream.ts'

const PROMPTLY_MS = 1_000

let first: ScriptedUpstream
let second: ScriptedUpstream
/** Accepts connections and never says a word, not even a TLS hello. */
let silent: net.Server
let gateway: Gateway
/** Like the other, but shows its routing. */
let shown: Gateway
let database: Database

const PRICE = 'price: { input: "1", output: "2", cache_read: "0.5", per: 1M }'

before(async () => {
  first = await ScriptedUpstream.start()
  second = await ScriptedUpstream.start()
  silent = net.createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const silentPort = (silent.address() as net.AddressInfo).port
  const refusing = await unusedPort()
  const config = `
bootstrap: { credit: "1000" } # a flood costs 100 USD
${UNEJECTING}
channels:
  - { id: first, name: First channel, provider: openai, base_url: "${first.url}/v1", api_key: sk-first }
  - { id: second, name: Second channel, provider: openai, base_url: "${second.url}/v1", api_key: sk-second }
  - { id: refusing, provider: openai, base_url: "http://127.0.0.1:${refusing}/v1" }
  - { id: unreachable, provider: openai, base_url: "https://127.0.0.1:${silentPort}/v1", timeout: { connect: 200ms } }
  - { id: slow, provider: openai, base_url: "${first.url}/v1", timeout: { first_byte: 300ms, idle: 300ms } }
models:
  - { id: one, vendor: acme, scene: chat, context_length: 100000, ${PRICE}, offers: [{ channel: first }] }
  - { id: two, scene: chat, ${PRICE}, offers: [{ channel: first }, { channel: second }] }
  - { id: refused, scene: chat, ${PRICE}, offers: [{ channel: refusing }] }
  - { id: refused-then-second, scene: chat, ${PRICE}, offers: [{ channel: refusing }, { channel: second }] }
  - { id: unreachable, scene: chat, ${PRICE}, offers: [{ channel: unreachable }] }
  - { id: unreachable-then-second, scene: chat, ${PRICE}, offers: [{ channel: unreachable }, { channel: second }] }
  - { id: slow, scene: chat, ${PRICE}, offers: [{ channel: slow }] }
  - { id: slow-then-second, scene: chat, ${PRICE}, offers: [{ channel: slow }, { channel: second }] }
  - { id: all-refused, scene: chat, ${PRICE}, offers: [{ channel: refusing }, { channel: refusing, upstream_model: x }] }
  - { id: embedder, scene: embedding, price: { input: "1", per: 1M }, offers: [{ channel: first }] }
`
  ;[gateway, shown] = await Promise.all([
    Gateway.start({ config }),
    Gateway.start({ config: `show_routing: true\n${config}` }),
  ])
  const opened = gateway.database?.open()
  assert.ok(opened)
  database = opened
})

after(async () => {
  await Promise.all([gateway.stop(), shown.stop()])
  await first.stop()
  await second.stop()
  silent.close()
})

async function unusedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function request(model: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, stream: true, messages: [{ role: 'user', content: 'Hi' }], ...fields }
}

function ask(model: string, fields: Record<string, unknown> = {}, init: RequestInit = {}): Promise<Response> {
  return gateway.post('/v1/chat/completions', request(model, fields), init as Parameters<Gateway['post']>[2])
}

interface UsageRow {
  readonly outcome: string
  readonly is_estimated: boolean
  readonly cost: string
  readonly channel_id: string
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
}

async function rowsOf(requestId: string | null): Promise<UsageRow[]> {
  const { rows } = await sql<UsageRow>`
    select outcome, is_estimated, trim_scale(cost)::text as cost, channel_id, prompt_tokens, completion_tokens
    from usage_events where request_id = ${requestId}
  `.execute(database)
  return rows
}

/** The one row of a request, when it has been shipped. */
async function rowOf(requestId: string | null): Promise<UsageRow> {
  const rows = await eventually('the usage row', async () => {
    const found = await rowsOf(requestId)
    return found.length > 0 ? found : undefined
  })
  assert.equal(rows.length, 1)
  return rows[0] as UsageRow
}

/** The `data` of a stream's events. */
function eventsOf(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length).trim())
}

function contentOf(text: string): string {
  return eventsOf(text)
    .filter(data => data.startsWith('{'))
    .map(data => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('')
}

const hello: Script = (_request, response) => {
  response.setHeader('content-type', 'text/event-stream')
  response.write(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hello' }))
}

/** `Hello`, and then what is given. */
function helloThen(rest: (response: http.ServerResponse, socket: net.Socket) => void): Script {
  return (seen, response, socket) => {
    void hello(seen, response, socket)
    rest(response, socket)
  }
}

function status(code: number, headers: Record<string, string> = {}, body?: string): Script {
  return (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(body ?? JSON.stringify({ error: { message: 'secret detail', type: 'server_error', code: null } }))
  }
}

describe('before the first byte', () => {
  const undone: Readonly<Record<string, Script>> = Object.fromEntries(
    [401, 402, 403, 404, 429, 503, 529].map(code => [`${code}`, status(code, { 'retry-after': '1' })]),
  )
  const uncertain: Readonly<Record<string, Script>> = {
    500: status(500),
    502: status(502),
    'a reset connection': (_request, _response, socket) => void socket.resetAndDestroy(),
    'a closed connection': (_request, _response, socket) => void socket.destroy(),
    'an error in a good answer': status(200),
    'headers and no more': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      response.end()
    },
  }

  for (const stream of [true, false]) {
    const kind = stream ? 'a stream' : 'a whole answer'

    for (const [name, script] of Object.entries(undone)) {
      it(`${kind}: ${name} of the first channel brings the second one, and the client sees a clean answer`, async () => {
        first.script = script
        second.script = answerWhole()
        const asked = [first.seen.length, second.seen.length]
        const response = await ask('two', { stream })
        const text = await response.text()
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('retry-after'), null)
        assert.ok(!text.includes('error') && !text.includes('_routing'))
        assert.equal(stream ? contentOf(text) : JSON.parse(text).choices[0].message.content, 'Hello')
        assert.deepEqual([first.seen.length - (asked[0] ?? 0), second.seen.length - (asked[1] ?? 0)], [1, 1])
        assert.equal(second.seen.at(-1)?.headers.authorization, 'Bearer sk-second')
        const row = await rowOf(response.headers.get('x-request-id'))
        assert.equal(row.channel_id, 'second')
        assert.equal(row.cost, '0.00002')
      })
    }

    for (const model of ['refused-then-second', 'unreachable-then-second']) {
      it(`${kind}: a channel that cannot be reached (${model}) brings the next one`, async () => {
        second.script = answerWhole()
        const response = await ask(model, { stream })
        assert.equal(response.status, 200)
        await response.text()
        assert.equal((await rowOf(response.headers.get('x-request-id'))).channel_id, 'second')
      })
    }

    for (const [name, script] of Object.entries(uncertain)) {
      it(`${kind}: ${name} may mean work that is billed, so it is not asked for twice`, async () => {
        first.script = script
        const asked = second.seen.length
        const response = await ask('two', { stream })
        const { error } = (await response.json()) as { error: Record<string, unknown> }
        assert.equal(response.status, 502)
        assert.equal(error.type, 'upstream_error')
        assert.ok(!JSON.stringify(error).includes('secret detail'))
        assert.equal(second.seen.length, asked)
        assert.deepEqual(await rowsOf(response.headers.get('x-request-id')), [])
      })
    }

    it(`${kind}: what the first channel finds wrong with the request is not asked of the second`, async () => {
      const body = { error: { message: 'No bananas.', type: 'invalid_request_error', param: 'bananas' } }
      first.script = status(400, {}, JSON.stringify(body))
      const asked = second.seen.length
      const response = await ask('two', { stream })
      assert.equal(response.status, 400)
      assert.deepEqual(await response.json(), body)
      assert.equal(second.seen.length, asked)
    })

    it(`${kind}: when no channel is left it is 503 all_channels_failed with the time to come back`, async () => {
      first.script = status(503)
      second.script = status(429, { 'retry-after': '9' })
      for (const [model, after] of [
        ['two', 9],
        ['all-refused', 5],
      ] as const) {
        const response = await ask(model, { stream })
        const { error } = (await response.json()) as { error: Record<string, unknown> }
        assert.equal(response.status, 503)
        assert.equal(error.type, 'all_channels_failed')
        assert.equal(error.code, 'all_channels_failed')
        assert.equal(error.retryable, true)
        assert.equal(error.retry_after, after)
        assert.equal(response.headers.get('retry-after'), String(after))
      }
    })
  }
})

describe('after the first byte', () => {
  const breaks: Readonly<Record<string, Script>> = {
    'a reset connection': helloThen((_response, socket) => setImmediate(() => socket.resetAndDestroy())),
    'an error event': helloThen(response => void response.end(event({ error: { message: 'busy', code: 'x' } }))),
    'an end without a finish': helloThen(response => void response.end()),
  }
  for (const [name, script] of Object.entries(breaks)) {
    it(`${name} is never followed by a second attempt`, async () => {
      first.script = script
      second.script = answerWhole()
      const asked = second.seen.length
      const response = await ask('two')
      const text = await response.text()
      assert.equal(response.status, 200)
      assert.equal(contentOf(text), 'Hello')
      assert.ok(text.includes('"error"') && !text.includes('[DONE]'))
      assert.equal(second.seen.length, asked)
      const row = await rowOf(response.headers.get('x-request-id'))
      assert.equal(row.outcome, 'cut')
      assert.equal(row.cost, '0')
    })
  }
})

describe('what the upstream may do to a stream', () => {
  interface Expected {
    /** `whole`: ends as it should. `cut`: ends with an error event. A number: never begins. */
    readonly ends: 'whole' | 'cut' | number
    readonly text?: string
    readonly isEstimated?: boolean
    readonly cost?: string
  }
  const endsWell: Expected = { ends: 'whole' }
  const isCut: Expected = { ends: 'cut' }

  const faults: Readonly<Record<string, [Script, Expected]>> = {
    'a reset before the finish': [
      helloThen((_response, socket) => setImmediate(() => socket.resetAndDestroy())),
      isCut,
    ],
    'a reset after the finish': [
      helloThen((response, socket) => {
        response.write(lastChunk() + usageChunk())
        setImmediate(() => socket.resetAndDestroy())
      }),
      endsWell,
    ],
    'an end without [DONE] after finish and usage': [
      helloThen(response => void response.end(lastChunk() + usageChunk())),
      endsWell,
    ],
    'an end without [DONE] and without usage': [
      helloThen(response => void response.end(lastChunk())),
      // 12 tokens of prompt and 2 of output by the gateway's own estimate: see `rowOf` below.
      { ends: 'whole', isEstimated: true },
    ],
    'an end without the blank line of its last event': [
      helloThen(response => void response.end(lastChunk() + usageChunk().trimEnd())),
      endsWell,
    ],
    'an end before the finish': [helloThen(response => void response.end()), isCut],
    'a closed connection in the middle of a chunk': [
      helloThen((response, socket) => {
        response.write(chunk({ content: ' never whole' }).slice(0, 40))
        setImmediate(() => socket.destroy())
      }),
      isCut,
    ],
    'a malformed event': [helloThen(response => void response.end('data: {"choices":[\n\n')), isCut],
    'an event that is no JSON': [helloThen(response => void response.end('data: oops\n\n')), isCut],
    'an error event': [
      helloThen(response => void response.end(event({ error: { message: 'secret detail', type: 'server_error' } }))),
      isCut,
    ],
    'an event of more than 16 MB': [
      helloThen(response => void response.end(`data: {"x":"${'a'.repeat(17 * 1024 * 1024)}"}\n\n`)),
      isCut,
    ],
    'an event of just under 16 MB': [
      helloThen(
        response =>
          void response.end(`${chunk({ content: 'a'.repeat(15 * 1024 * 1024) })}${lastChunk()}${usageChunk()}${DONE}`),
      ),
      { ends: 'whole', text: `Hello${'a'.repeat(15 * 1024 * 1024)}` },
    ],
    'a line that never ends': [
      helloThen(response => void response.end(`data: ${'a'.repeat(17 * 1024 * 1024)}`)),
      isCut,
    ],
    'invalid UTF-8 in an event': [
      helloThen(response => {
        response.write(Buffer.from(chunk({ content: 'H\xff' }), 'latin1'))
        response.end(lastChunk() + usageChunk() + DONE)
      }),
      { ends: 'whole', text: 'HelloH\ufffd' },
    ],
    'CRLF line ends': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        const text = chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE
        response.end(text.replaceAll('\n', '\r\n'))
      },
      endsWell,
    ],
    'CR line ends': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        const text = chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE
        response.end(text.replaceAll('\n', '\r'))
      },
      endsWell,
    ],
    'one byte at a time': [
      async (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        const bytes = Buffer.from(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE)
        for (const byte of bytes) {
          response.write(Buffer.of(byte))
          await new Promise(setImmediate)
        }
        response.end()
      },
      endsWell,
    ],
    'comments and keep-alives': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(`: hi\n\n${chunk({ content: 'Hel' })}: keep-alive\n\n\n\nretry: 100\n\nid: 7\n\n`)
        response.end(`${chunk({ content: 'lo' })}: bye\n\n${lastChunk()}${usageChunk()}${DONE}`)
      },
      endsWell,
    ],
    'data over several lines': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(chunk({ content: 'Hello' }).replaceAll(',', ',\ndata: '))
        response.end(lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'data without a space, and with event names': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(`event: message\n${chunk({ content: 'Hello' }).replace('data: ', 'data:')}`)
        response.end(lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'usage on the last content chunk': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(chunk({ content: 'Hello' }))
        const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
        response.end(chunk({}, { choices, usage: { prompt_tokens: 10, completion_tokens: 5 } }) + DONE)
      },
      endsWell,
    ],
    'usage on every chunk, of which the last counts': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        const usage = (completion_tokens: number) => ({ usage: { prompt_tokens: 10, completion_tokens } })
        const delta = (content: string) => [{ index: 0, delta: { content }, finish_reason: null }]
        response.write(chunk({}, { choices: delta('Hel'), ...usage(1) }))
        response.write(chunk({}, { choices: delta('lo'), ...usage(3) }))
        const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
        response.end(chunk({}, { choices, ...usage(5) }) + DONE)
      },
      endsWell,
    ],
    'usage that is null until the end': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(chunk({ content: 'Hello' }, { usage: null }))
        response.end(lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'no usage at all': [
      helloThen(response => void response.end(lastChunk() + DONE)),
      { ends: 'whole', isEstimated: true },
    ],
    'usage that is nonsense': [
      helloThen(
        response =>
          void response.end(lastChunk() + usageChunk({ prompt_tokens: -1, completion_tokens: 'many' }) + DONE),
      ),
      { ends: 'whole', isEstimated: true },
    ],
    '[DONE] without closing the connection': [
      helloThen(response => void response.write(lastChunk() + usageChunk() + DONE)),
      endsWell,
    ],
    'more events after [DONE]': [
      helloThen(response => void response.end(lastChunk() + usageChunk() + DONE + chunk({ content: 'too late' }))),
      endsWell,
    ],
    'a content type with parameters in capitals': [
      (_request, response) => {
        response.setHeader('Content-Type', 'Text/Event-Stream; Charset=UTF-8')
        response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'a stream that is called plain text': [
      (_request, response) => {
        response.setHeader('content-type', 'text/plain')
        response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'a stream without a content type': [
      (_request, response) => void response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE),
      endsWell,
    ],
    'interim answers before the real one': [
      (_request, response) => {
        response.writeProcessing()
        response.writeEarlyHints({ link: '</x>; rel=preload' })
        response.setHeader('content-type', 'text/event-stream')
        response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE)
      },
      endsWell,
    ],
    'nothing but [DONE]': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end(DONE)
      },
      { ends: 502 },
    ],
    'nothing but usage and [DONE]': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end(usageChunk() + DONE)
      },
      { ends: 502 },
    ],
    'an error as the first event': [
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end(event({ error: { message: 'secret detail' } }))
      },
      { ends: 502 },
    ],
    '200 with an error in JSON': [status(200), { ends: 502 }],
    '200 with a whole completion in JSON': [status(200, {}, JSON.stringify(completion())), { ends: 502 }],
    '200 with a page in HTML': [
      status(200, { 'content-type': 'text/html; charset=utf-8' }, '<html>\n\n<body>secret detail</body>\n\n</html>'),
      { ends: 502 },
    ],
    '502 with a page in HTML': [
      status(502, { 'content-type': 'text/html' }, '<html>\n\n<body>secret detail</body></html>'),
      { ends: 502 },
    ],
    '500 with an endless body': [
      (_request, response) => {
        response.writeHead(500, { 'content-type': 'text/plain' })
        response.end('secret detail '.repeat(1_000_000))
      },
      { ends: 502 },
    ],
    'gzip, although it was told not to': [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
        response.end(gzipSync(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE))
      },
      { ends: 502 },
    ],
    'gzip with blank lines in it': [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
        response.end(Buffer.concat([Buffer.from('\x1f\x8b\x08\n\n'), Buffer.from('abc\n\ndef\n\n')]))
      },
      { ends: 502 },
    ],
    '204': [(_request, response) => void response.writeHead(204).end(), { ends: 502 }],
    '301 to somewhere else': [status(301, { location: `http://127.0.0.1:1/v1` }, ''), { ends: 502 }],
    '307 to somewhere else': [status(307, { location: `http://127.0.0.1:1/v1` }, ''), { ends: 502 }],
    '304': [(_request, response) => void response.writeHead(304).end(), { ends: 502 }],
    '600': [status(600), { ends: 502 }],
    '408': [status(408), { ends: 504 }],
    '504': [status(504), { ends: 504 }],
    'headers that are no HTTP': [
      (_request, _response, socket) => void socket.end('HTTP/1.1 200 OK\r\nno colon here\r\n\r\n'),
      { ends: 502 },
    ],
    'an answer that is no HTTP': [(_request, _response, socket) => void socket.end('SSH-2.0-x\r\n'), { ends: 502 }],
    'headers without end': [
      (_request, _response, socket) => void socket.end(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`),
      { ends: 502 },
    ],
    'a body longer than it said': [
      (_request, _response, socket) => {
        const text = chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${text.length}\r\n\r\n${text}xxxx`,
        )
      },
      endsWell,
    ],
    'a body shorter than it said': [
      (_request, _response, socket) => {
        const text = chunk({ content: 'Hello' })
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${text.length + 9}\r\n\r\n${text}`,
        )
      },
      isCut,
    ],
  }

  for (const [name, [script, expected]] of Object.entries(faults)) {
    it(`${name}: ${typeof expected.ends === 'number' ? `is ${expected.ends}` : `ends ${expected.ends}`}`, async () => {
      first.script = script
      const asked = first.seen.length
      const response = await ask('one')
      const text = await response.text()
      assert.equal(first.seen.length, asked + 1)
      const id = response.headers.get('x-request-id')
      assert.match(id ?? '', /^req_/)
      assert.ok(!text.includes('secret detail'))
      if (typeof expected.ends === 'number') {
        assert.equal(response.status, expected.ends, text.slice(0, 1_000))
        const { error } = JSON.parse(text)
        assert.equal(error.type, expected.ends === 504 ? 'timeout_error' : 'upstream_error')
        assert.deepEqual(await rowsOf(id), [])
        return
      }
      assert.equal(response.status, 200, text.slice(0, 1_000))
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
      const events = eventsOf(text)
      const isWhole = expected.ends === 'whole'
      const last = events.at(-1) ?? ''
      if (isWhole) assert.equal(last, '[DONE]')
      else assert.equal(JSON.parse(last).error.type, 'upstream_error')
      assert.equal(events.filter(data => data === '[DONE]').length, isWhole ? 1 : 0)
      const words = events.slice(0, -1).map(data => JSON.parse(data).choices[0]?.delta.content ?? '')
      assert.ok(words.join('') === (expected.text ?? 'Hello'))
      assert.ok(/(\r\n|\r|\n){2}$/.test(text), 'the stream ends with a blank line')
      const row = await rowOf(id)
      assert.equal(row.outcome, isWhole ? 'completed' : 'cut')
      if (!isWhole) assert.equal(row.cost, '0')
      else if (expected.isEstimated) {
        assert.equal(row.is_estimated, true)
        assert.ok(Number(row.prompt_tokens) > 0 && Number(row.completion_tokens) > 0)
      } else {
        assert.equal(row.is_estimated, false)
        assert.equal(row.cost, '0.00002')
      }
    })
  }

  it('the end of the answer does not wait for an upstream that keeps its connection open', async () => {
    first.script = helloThen(response => void response.write(lastChunk() + usageChunk() + DONE))
    const startedAtMs = performance.now()
    const text = await (await ask('one')).text()
    assert.ok(text.endsWith(DONE))
    assert.ok(performance.now() - startedAtMs < 2_000)
  })

  it('a whole answer that is broken in any of these ways is 502 as well', async () => {
    const broken: readonly Script[] = [
      status(200),
      status(200, {}, '{"choices":'),
      status(200, {}, '[]'),
      status(200, {}, ''),
      status(200, { 'content-type': 'text/html' }, '<html></html>'),
      status(301, { location: 'http://127.0.0.1:1/' }, ''),
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        response.end(gzipSync(JSON.stringify(completion())))
      },
      (_request, response, socket) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{"choices":')
        setImmediate(() => socket.destroy())
      },
    ]
    for (const script of broken) {
      first.script = script
      const response = await ask('one', { stream: false })
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(response.status, 502)
      assert.equal(error.type, 'upstream_error')
      assert.deepEqual(await rowsOf(response.headers.get('x-request-id')), [])
    }
  })
})

describe('a timeout', { concurrency: true }, () => {
  const steady: Script = async (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    const startedAtMs = performance.now()
    // The pace is the point: each pause is shorter than the limit, all together are longer.
    while (performance.now() - startedAtMs < 900) {
      response.write(chunk({ content: 'x' }))
      await sleep(100)
    }
    response.end(lastChunk() + usageChunk() + DONE)
  }
  /** What the upstream does, by what it is asked. */
  const scripts: Readonly<Record<string, Script>> = {
    'say nothing': () => {},
    'send headers': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
    },
    'say hello': hello,
    'speak steadily': steady,
  }

  before(() => {
    first.script = (seen, response, socket) => {
      const [message] = seen.body.messages as { content: string }[]
      return scripts[message?.content ?? '']?.(seen, response, socket)
    }
  })

  const saying = (content: string) => ({ messages: [{ role: 'user', content }] })

  async function assertTimesOut(model: string, fields: Record<string, unknown>): Promise<void> {
    const response = await ask(model, fields)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    assert.equal(response.status, 504)
    assert.equal(error.type, 'timeout_error')
    assert.equal(error.code, 'timeout_error')
    assert.equal(error.retryable, true)
    assert.deepEqual(await rowsOf(response.headers.get('x-request-id')), [])
  }

  for (const stream of [true, false]) {
    const kind = stream ? 'a stream' : 'a whole answer'

    it(`while connecting, ${kind}: 504 timeout_error`, () => assertTimesOut('unreachable', { stream }))

    it(`before the headers, ${kind}: 504 timeout_error, and no second attempt at a work that may be done`, async () => {
      const asked = second.seen.length
      const fields = { stream, ...saying('say nothing') }
      await Promise.all([assertTimesOut('slow', fields), assertTimesOut('slow-then-second', fields)])
      assert.equal(second.seen.length, asked)
    })

    it(`between headers and the first event, ${kind}: 504 timeout_error`, () =>
      assertTimesOut('slow', { stream, ...saying('send headers') }))
  }

  it('in the middle of a stream is an error event', async () => {
    const response = await ask('slow', saying('say hello'))
    const text = await response.text()
    assert.equal(response.status, 200)
    assert.equal(contentOf(text), 'Hello')
    assert.equal(JSON.parse(eventsOf(text).at(-1) ?? '').error.type, 'timeout_error')
    assert.equal((await rowOf(response.headers.get('x-request-id'))).outcome, 'cut')
    const seen = first.seen.findLast(each => each.text.includes('say hello'))
    await seen?.closed
  })

  it('does not run while the upstream keeps talking', async () => {
    const text = await (await ask('slow', saying('speak steadily'))).text()
    assert.ok(text.endsWith(DONE))
    assert.match(contentOf(text), /^x{5,}$/)
  })
})

/** A client whose reading is in our hands. */
async function openStream(model: string): Promise<http.IncomingMessage> {
  const call = http.request(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
  })
  call.end(JSON.stringify(request(model, { stream_options: { include_usage: true } })))
  const [response] = (await once(call, 'response')) as [http.IncomingMessage]
  response.on('error', () => {})
  return response
}

async function residentBytes(): Promise<number> {
  const text = await readFile(`/proc/${gateway.process.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024
}

const MEBIBYTE = 1024 * 1024
const FLOOD_BYTES = 192 * MEBIBYTE

/** An upstream that offers a flood as fast as it is taken. */
class Flood {
  readonly hash = createHash('sha256')
  bytes = 0
  isOver = false

  get script(): Script {
    return async (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      const frame = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(32 * 1024)}"},"finish_reason":null}]}\n\n`
      while (this.bytes < FLOOD_BYTES && !response.destroyed) {
        if (!this.#write(response, frame)) await Promise.race([once(response, 'drain'), once(response, 'close')])
      }
      if (response.destroyed) return
      this.#write(response, lastChunk().replaceAll('upstream-model', 'one'))
      this.#write(response, usageChunk().replaceAll('upstream-model', 'one'))
      this.#write(response, DONE)
      response.end()
      this.isOver = true
    }
  }

  /** Resolves when the upstream has not been able to send for half a second. */
  async stalled(): Promise<void> {
    let seen = -1
    let sinceMs = 0
    await eventually('the stall of the upstream', () => {
      if (this.bytes !== seen) {
        seen = this.bytes
        sinceMs = performance.now()
      }
      return seen > 0 && performance.now() - sinceMs > 500 ? true : undefined
    })
  }

  #write(response: http.ServerResponse, text: string): boolean {
    this.hash.update(text)
    this.bytes += text.length
    return response.write(text)
  }
}

describe('a client that does not read', () => {
  it('stops the upstream, costs the gateway no memory, and gets every byte when it reads again', async () => {
    const flood = new Flood()
    first.script = flood.script
    const before = await residentBytes()
    const response = await openStream('one')
    await flood.stalled()
    const offered = flood.bytes
    assert.ok(offered < FLOOD_BYTES / 4, `${offered} bytes were taken of a client that reads none`)
    const grownBy = (await residentBytes()) - before
    assert.ok(grownBy < 64 * MEBIBYTE, `the gateway has grown by ${grownBy} bytes`)

    const received = createHash('sha256')
    let bytes = 0
    for await (const piece of response) {
      received.update(piece)
      bytes += piece.length
    }
    assert.ok(flood.isOver)
    assert.equal(bytes, flood.bytes)
    assert.equal(received.digest('hex'), flood.hash.digest('hex'))
  })

  it('is not taken for a silent upstream', async () => {
    const flood = new Flood()
    first.script = flood.script
    // Its idle limit is 300 ms; the stall alone is longer.
    const response = await openStream('slow')
    await flood.stalled()
    let tail = ''
    for await (const piece of response) tail = (tail + piece.toString('latin1')).slice(-100)
    assert.ok(tail.endsWith(DONE))
  })
})

describe('a client that goes away closes the connection to the upstream', () => {
  async function closesPromptly(): Promise<void> {
    const { closed } = first.seen.at(-1) ?? assert.fail('the upstream was not asked')
    const startedAtMs = performance.now()
    let isClosed = false
    void closed.then(() => {
      isClosed = true
    })
    await eventually('the end of the upstream connection', () => isClosed || undefined, PROMPTLY_MS)
    assert.ok(performance.now() - startedAtMs < PROMPTLY_MS)
  }

  async function assertGone(requestId: string | null): Promise<void> {
    const row = await rowOf(requestId)
    assert.equal(row.outcome, 'client_gone')
    assert.equal(row.is_estimated, true)
    assert.ok(Number(row.prompt_tokens) > 0)
    assert.ok(Number(row.completion_tokens) > 0)
    assert.notEqual(row.cost, '0')
  }

  for (const stream of [true, false]) {
    it(`while it waits for ${stream ? 'a stream' : 'a whole answer'}, of which nothing is charged`, async () => {
      first.script = () => {}
      const asked = first.seen.length
      const controller = new AbortController()
      const headers = { 'x-request-id': `gone-${stream}` }
      const pending = ask('one', { stream }, { signal: controller.signal, headers })
      pending.catch(() => {})
      await eventually('the request at the upstream', () => (first.seen.length > asked ? true : undefined))
      controller.abort()
      await closesPromptly()
      const line = await eventually('the log line', () =>
        gateway.lines('request.completed').find(each => each.client_request_id === `gone-${stream}`),
      )
      assert.equal(line.status, 0)
      assert.equal(line.is_client_gone, true)
      assert.deepEqual(await rowsOf(String(line.request_id)), [])
    })
  }

  it('in the middle of a stream, of which what was produced is charged', async () => {
    first.script = hello
    const response = await openStream('one')
    response.once('data', () => response.destroy())
    await once(response, 'close')
    await closesPromptly()
    await assertGone(response.headers['x-request-id'] as string)
  })

  it('while it does not read', async () => {
    const flood = new Flood()
    first.script = flood.script
    const response = await openStream('one')
    await flood.stalled()
    response.destroy()
    await closesPromptly()
    assert.ok(!flood.isOver)
    await assertGone(response.headers['x-request-id'] as string)
  })

  it('and leaves no request open', async () => {
    await eventually('an idle gateway', async () => {
      const metrics = await (await gateway.fetch('/metrics')).text()
      // The one that asks is open itself.
      return /^tollgate_open_requests 1$/m.test(metrics) || undefined
    })
  })
})

describe('_routing', () => {
  const routing = (id: string, name: string, retryCount: number) => ({
    channel: { id, name, provider: 'openai', channelType: 'PLATFORM' },
    cached: false,
    retryCount,
  })

  async function assertShown(expected: object): Promise<void> {
    const whole = await (await shown.post('/v1/chat/completions', request('two', { stream: false }))).json()
    assert.deepEqual((whole as Record<string, unknown>)._routing, expected)
    const streamed = await (await shown.post('/v1/chat/completions', request('two'))).text()
    const events = eventsOf(streamed)
      .filter(data => data.startsWith('{'))
      .map(data => JSON.parse(data))
    assert.deepEqual(events[0]._routing, expected)
    assert.ok(
      events.slice(1).every(each => !('_routing' in each)),
      'it is said once',
    )
    assert.equal(contentOf(streamed), 'Hello')
  }

  it('tells the channel, whole and streamed', async () => {
    first.script = answerWhole()
    await assertShown(routing('first', 'First channel', 0))
  })

  it('tells the channel that answered, and after how many others', async () => {
    first.script = status(503)
    second.script = answerWhole()
    await assertShown(routing('second', 'Second channel', 1))
  })

  it('stands beside embeddings too', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: [1] }]
    first.script = status(200, {}, JSON.stringify({ object: 'list', data, model: 'x', usage: { prompt_tokens: 1 } }))
    const answer = await (await shown.post('/v1/embeddings', { model: 'embedder', input: 'Hi' })).json()
    assert.deepEqual((answer as Record<string, unknown>)._routing, routing('first', 'First channel', 0))
  })

  it('is absent unless the operator shows it', async () => {
    first.script = answerWhole()
    for (const stream of [true, false]) {
      assert.ok(!(await (await ask('one', { stream })).text()).includes('_routing'))
    }
  })
})

describe('the headers of an answer', () => {
  const upstreamHeaders = {
    'set-cookie': 'a=b',
    server: 'nginx',
    'x-request-id': 'theirs',
    'openai-organization': 'org-secret',
    'x-ratelimit-limit-requests': '7',
    'x-ratelimit-remaining-requests': '7',
    'cache-control': 'max-age=3600',
  }

  it('of a stream keep proxies from gathering it, and are not the upstream\u2019s', async () => {
    first.script = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...upstreamHeaders })
      response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk() + DONE)
    }
    const response = await ask('one')
    await response.text()
    const { headers } = response
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-cache')
    assert.equal(headers.get('x-accel-buffering'), 'no')
    assert.equal(headers.get('content-length'), null)
    assert.equal(headers.get('content-encoding'), null)
    for (const name of ['set-cookie', 'server', 'openai-organization']) assert.equal(headers.get(name), null)
    // The caller's own limit, and not what is left of the operator's at the provider.
    assert.equal(headers.get('x-ratelimit-limit-requests'), '1000')
    assert.match(headers.get('x-request-id') ?? '', /^req_/)
  })

  it('of a whole answer are not the upstream\u2019s either', async () => {
    first.script = status(200, upstreamHeaders, JSON.stringify(completion()))
    const response = await ask('one', { stream: false })
    const text = await response.text()
    const { headers } = response
    assert.equal(headers.get('content-type'), 'application/json')
    assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)))
    assert.equal(headers.get('set-cookie'), null)
    assert.match(headers.get('x-request-id') ?? '', /^req_/)
  })

  it('to the upstream ask for no compression and say nothing of the client', async () => {
    first.script = answerWhole()
    await ask('one', {}, { headers: { 'x-forwarded-for': '192.0.2.1', 'user-agent': 'secret-client', cookie: 'a=b' } })
    const seen = first.seen.at(-1)?.headers ?? {}
    assert.equal(seen['accept-encoding'], 'identity')
    assert.equal(seen.accept, 'text/event-stream')
    assert.equal(seen['user-agent'], 'tollgate')
    assert.ok(!('x-forwarded-for' in seen) && !('cookie' in seen))
  })
})

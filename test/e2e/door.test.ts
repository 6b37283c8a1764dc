import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { type RawAnswer, RawClient } from '../support/raw-client.ts'
import { answerWhole, chunk, configFor, ScriptedUpstream } from '../support/upstream.ts'

const MEBIBYTE = 1024 * 1024
const BODY_LIMIT = 20 * MEBIBYTE
const BODY = JSON.stringify({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] })
const LENGTH = BODY.length
const HEX = LENGTH.toString(16)
const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`
const SMUGGLED = BODY.replace('Hi', 'smuggled')

let upstream: ScriptedUpstream
let gateway: Gateway
let slowClients: Promise<void>

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: configFor(upstream.url) })
  // What takes its time by design goes on beside the other tests. None of it reaches the upstream that they count at.
  slowClients = Promise.all([...sendSlowly(), sendSteadily()]).then(() => {})
  slowClients.catch(() => {})
})

after(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** Host, credential and content type of a good request. */
function common(): string {
  return `Host: gateway\r\nAuthorization: Bearer ${gateway.apiKey}\r\nContent-Type: application/json\r\n`
}

function post(headers: string, body: string, version = 'HTTP/1.1'): string {
  return `POST /v1/chat/completions ${version}\r\n${common()}${headers}\r\n${body}`
}

function get(target: string, headers = '', requestLine = `GET ${target} HTTP/1.1`): string {
  return `${requestLine}\r\nHost: gateway\r\n${headers}\r\n`
}

/** What an attacker would like to have run behind the request that the door looked at. */
function smuggled(): string {
  return post(`Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED)
}

async function assertServes(): Promise<void> {
  const response = await gateway.post('/v1/chat/completions', BODY)
  assert.equal(response.status, 200)
  await response.text()
}

function assertRefusal({ status, headers, body }: RawAnswer, expected: number): void {
  assert.equal(status, expected, body)
  assert.match(headers['x-request-id'] ?? '', /^req_[0-9A-Za-z]{24}$/)
  assert.equal(headers['request-id'], headers['x-request-id'])
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  const { error } = JSON.parse(body)
  assert.equal(typeof error.message, 'string')
  assert.equal(error.type, 'invalid_request_error')
}

/** Sends bytes that must be refused, with a smuggled request behind them, and sees the connection closed. */
async function assertRefused(bytes: string, status: number): Promise<void> {
  const before = upstream.seen.length
  const client = await RawClient.connect(gateway.baseUrl)
  client.write(bytes + smuggled())
  const answer = await client.answer()
  assert.ok(answer, 'the connection was closed without an answer')
  assertRefusal(answer, status)
  assert.equal(answer.headers.connection, 'close')
  await client.closed()
  assert.equal(client.unread, '')
  // A smuggled request would be on its way by now, ahead of this one.
  await assertServes()
  assert.equal(upstream.seen.length, before + 1)
}

/** Clients that keep a connection busy with next to nothing; each is answered as given and cut. */
function sendSlowly(): Promise<void>[] {
  const shortOf1000 = (body: string) => post('Content-Length: 1000\r\n', body)
  const cases: readonly [string, string, number][] = [
    ['', '', 408],
    ['GET /healthz HTTP/1.1\r\nHost: gateway\r\nX: ', 'a'.repeat(100), 408],
    ['GET /healthz HTTP/1.1\r\nHost: gateway\r\n', 'X: y\r\n'.repeat(20), 408],
    ['GET /healthz\r\n', '', 408],
    [shortOf1000('{'), '', 408],
    [shortOf1000('{'), ' '.repeat(100), 408],
    [post('Transfer-Encoding: chunked\r\n', ''), '1\r\n \r\n'.repeat(20), 408],
    // Refused at once; a body that nobody wants keeps the connection no longer.
    [shortOf1000('').replace('Bearer sk-', 'Bearer no-'), ' '.repeat(100), 401],
    [shortOf1000('').replace('/v1/chat/completions', '/nowhere'), ' '.repeat(100), 404],
    [shortOf1000('').replace('/v1/chat', '/v1/%zz'), ' '.repeat(100), 400],
  ]
  return cases.map(async ([start, rest, status]) => {
    const startedAtMs = performance.now()
    const withinMs = 15_000
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(start)
    void trickle(client, rest, { bytes: 1, everyMs: 400 })
    const answer = await client.answer({ withinMs })
    assert.equal(answer?.status, status, start)
    assert.match(answer?.headers['x-request-id'] ?? '', /^req_/)
    await client.closed(withinMs)
    assert.ok(performance.now() - startedAtMs < withinMs)
  })
}

/** A client at twice the least rate, for longer than the window in which the rate is taken. */
async function sendSteadily(): Promise<void> {
  const body = BODY.replace('test-chat', 'no-such-model') + ' '.repeat(24_000)
  const client = await RawClient.connect(gateway.baseUrl)
  client.write(post(`Content-Length: ${body.length}\r\n`, ''))
  await trickle(client, body, { bytes: 1_000, everyMs: 500 })
  const answer = await client.answer()
  assert.equal(JSON.parse(answer?.body ?? '').error.code, 'model_not_found')
  client.close()
}

/** Sends at a pace: time itself is what is tested here. */
async function trickle(client: RawClient, text: string, pace: { bytes: number; everyMs: number }): Promise<void> {
  for (let at = 0; !client.isClosed && at < text.length; at += pace.bytes) {
    client.write(text.slice(at, at + pace.bytes))
    await sleep(pace.everyMs)
  }
}

type Table = Readonly<Record<string, () => string>>

describe('a request whose framing is in doubt is refused, closes its connection and runs nothing behind it', () => {
  const te = (spelling: string, body = CHUNKED) => post(`${spelling}\r\n`, body)
  const contentLength = (value: string) => post(`Content-Length:${value}\r\n`, BODY)
  const line = (requestLine: string) => get('', '', requestLine)
  const header = (text: string) => get('/healthz', `${text}\r\n`)

  const both: Table = {
    'Content-Length before Transfer-Encoding': () =>
      post('Content-Length: 6\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'Transfer-Encoding before Content-Length': () =>
      post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'),
    'both, in other case': () => post('content-length: 6\r\nTRANSFER-ENCODING: Chunked\r\n', '0\r\n\r\n'),
    'both, with Content-Length 0': () => post('Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'both, with an encoding that is none': () => post(`Content-Length: ${LENGTH}\r\nTransfer-Encoding: x\r\n`, BODY),
    'Content-Length in the trailer of a chunked body': () =>
      te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`),
  }

  const transferEncodings: Table = {
    'chunked twice in one header': () => te('Transfer-Encoding: chunked, chunked'),
    'chunked twice in two headers': () => te('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'),
    'chunked, then identity': () => te('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'),
    'identity, then chunked': () => te('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked'),
    'chunked, identity in one header': () => te('Transfer-Encoding: chunked, identity'),
    'gzip, chunked': () => te('Transfer-Encoding: gzip, chunked'),
    'an empty element before chunked': () => te('Transfer-Encoding: ,chunked'),
    'an empty element after chunked': () => te('Transfer-Encoding: chunked,'),
    'gzip alone': () => te('Transfer-Encoding: gzip'),
    'identity alone': () => te('Transfer-Encoding: identity', BODY),
    'an unknown encoding': () => te('Transfer-Encoding: xchunked'),
    'chunked with something stuck to it': () => te('Transfer-Encoding: chunkedx'),
    'chunked in quotes': () => te('Transfer-Encoding: "chunked"'),
    'chunked with a parameter': () => te('Transfer-Encoding: chunked;q=1'),
    'an empty Transfer-Encoding': () => te('Transfer-Encoding:'),
    'a vertical tab before chunked': () => te('Transfer-Encoding: \x0bchunked'),
    'a NUL after chunked': () => te('Transfer-Encoding: chunked\0'),
    'a folded chunked': () => te('Transfer-Encoding:\r\n chunked'),
    'a space before the colon of Transfer-Encoding': () => te('Transfer-Encoding : chunked'),
    'a folded header that hides Transfer-Encoding': () => te('X: y\r\n Transfer-Encoding: chunked'),
    'a bare LF that starts Transfer-Encoding': () => te('X: y\nTransfer-Encoding: chunked'),
    'a bare CR that starts Transfer-Encoding': () => te('X: y\rTransfer-Encoding: chunked'),
    'chunked in HTTP/1.0': () => post('Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n', CHUNKED, 'HTTP/1.0'),
    'chunked and a length in HTTP/1.0': () =>
      post(`Transfer-Encoding: chunked\r\nContent-Length: ${CHUNKED.length}\r\n`, CHUNKED, 'HTTP/1.0'),
    'identity in HTTP/1.0': () =>
      post(`Transfer-Encoding: identity\r\nContent-Length: ${LENGTH}\r\nConnection: keep-alive\r\n`, BODY, 'HTTP/1.0'),
  }

  const contentLengths: Table = {
    'Content-Length twice, the same': () => post(`Content-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}\r\n`, BODY),
    'Content-Length twice, not the same': () => post(`Content-Length: ${LENGTH}\r\nContent-Length: 5\r\n`, BODY),
    'Content-Length twice in other case': () => post(`Content-Length: ${LENGTH}\r\ncontent-length: 5\r\n`, BODY),
    'a list of equal lengths': () => contentLength(` ${LENGTH}, ${LENGTH}`),
    'a list of unequal lengths': () => contentLength(` ${LENGTH}, 5`),
    'a length with a plus sign': () => contentLength(` +${LENGTH}`),
    'a negative length': () => contentLength(' -1'),
    'a hexadecimal length': () => contentLength(` 0x${HEX}`),
    'a fractional length': () => contentLength(` ${LENGTH}.0`),
    'a length with an exponent': () => contentLength(' 1e2'),
    'a length with a space in it': () => contentLength(' 1 0'),
    'a length with an underscore': () => contentLength(' 1_0'),
    'a length with a letter behind it': () => contentLength(` ${LENGTH}a`),
    'an empty length': () => contentLength(''),
    'a length beyond 64 bits': () => contentLength(' 18446744073709551616'),
    'a vertical tab before the length': () => contentLength(` \x0b${LENGTH}`),
    'digits that are not ASCII': () => contentLength(' \xb2\xb3'),
    'a folded length': () => contentLength(`\r\n ${LENGTH}`),
    'a space before the colon of Content-Length': () => post(`Content-Length : ${LENGTH}\r\n`, BODY),
    'a tab before the colon of Content-Length': () => post(`Content-Length\t: ${LENGTH}\r\n`, BODY),
    'a body without any length': () => post('', BODY),
  }

  const chunks: Table = {
    'a chunk size that is no number': () => te('Transfer-Encoding: chunked', `zz\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size with 0x': () => te('Transfer-Encoding: chunked', `0x${HEX}\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size with a plus sign': () => te('Transfer-Encoding: chunked', `+${HEX}\r\n${BODY}\r\n0\r\n\r\n`),
    'a negative chunk size': () => te('Transfer-Encoding: chunked', `-${HEX}\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size with an underscore': () => te('Transfer-Encoding: chunked', `0_${HEX}\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size behind a space': () => te('Transfer-Encoding: chunked', ` ${HEX}\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size before a space': () => te('Transfer-Encoding: chunked', `${HEX} \r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size beyond 64 bits': () => te('Transfer-Encoding: chunked', '10000000000000000\r\nx\r\n0\r\n\r\n'),
    'an empty chunk size': () => te('Transfer-Encoding: chunked', `\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk that is longer than its size': () => te('Transfer-Encoding: chunked', '3\r\nhello\r\n0\r\n\r\n'),
    'a chunk that is not followed by CRLF': () => te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}XX0\r\n\r\n`),
    'chunks with bare LFs': () => te('Transfer-Encoding: chunked', `${HEX}\n${BODY}\n0\n\n`),
    'a bare LF after a chunk size': () => te('Transfer-Encoding: chunked', `${HEX}\n${BODY}\r\n0\r\n\r\n`),
    'a bare CR after a chunk size': () => te('Transfer-Encoding: chunked', `${HEX}\r${BODY}\r\n0\r\n\r\n`),
    'a bare LF after a chunk': () => te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}\n0\r\n\r\n`),
    'a bare LF in a chunk extension': () => te('Transfer-Encoding: chunked', `${HEX};a\nb\r\n${BODY}\r\n0\r\n\r\n`),
    'a bare CR in a chunk extension': () => te('Transfer-Encoding: chunked', `${HEX};a\rb\r\n${BODY}\r\n0\r\n\r\n`),
    'a NUL in a chunk extension': () => te('Transfer-Encoding: chunked', `${HEX};a\0b\r\n${BODY}\r\n0\r\n\r\n`),
    'chunk extensions without end': () =>
      te('Transfer-Encoding: chunked', `${HEX};${'a'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`),
    'a request where the trailer should be': () => te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}\r\n0\r\n`),
    'a bare LF in the trailer': () => te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}\r\n0\r\nX: y\n\r\n`),
  }

  const lines: Table = {
    'bare LFs throughout': () => 'GET /healthz HTTP/1.1\nHost: gateway\n\n',
    'a bare LF after the request line': () => 'GET /healthz HTTP/1.1\nHost: gateway\r\n\r\n',
    'a bare LF after a header': () => header('X: y\nY: z'),
    'a bare LF that ends the headers': () => 'GET /healthz HTTP/1.1\r\nHost: gateway\r\n\n',
    'a bare CR after a header': () => header('X: y\rY: z'),
    'a doubled CR': () => header('X: y\r'),
    'a NUL in a header value': () => header('X: a\0b'),
    'a NUL in a header name': () => header('X\0Y: a'),
    'a NUL in the path': () => line('GET /heal\0thz HTTP/1.1'),
    'a vertical tab in a header value': () => header('X: a\x0bb'),
    'a form feed in a header value': () => header('X: a\x0cb'),
    'a DEL in a header value': () => header('X: a\x7fb'),
    'a folded header': () => header('X: a\r\n b'),
    'a header folded with a tab': () => header('X: a\r\n\tb'),
    'a first header that begins with a space': () => 'GET /healthz HTTP/1.1\r\n Host: gateway\r\n\r\n',
    'a header without a name': () => header(': v'),
    'a header without a colon': () => header('nonsense'),
    'a header name with a space': () => header('X Y: v'),
    'a header name that is not ASCII': () => header('X\xff: v'),
    'a header name in brackets': () => header('X[0]: v'),
    'a lower-case method': () => line('get /healthz HTTP/1.1'),
    'an unknown method': () => line('FOO /healthz HTTP/1.1'),
    'a tab after the method': () => line('GET\t/healthz HTTP/1.1'),
    'a space before the method': () => line(' GET /healthz HTTP/1.1'),
    'a NUL before the method': () => line('\0GET /healthz HTTP/1.1'),
    'a space in the path': () => line('GET /heal thz HTTP/1.1'),
    'a path that is not ASCII': () => line('GET /healthz\xc3\xa9 HTTP/1.1'),
    'a space after the version': () => line('GET /healthz HTTP/1.1 '),
    'HTTP/2.0': () => post(`Content-Length: ${LENGTH}\r\n`, BODY, 'HTTP/2.0'),
    'HTTP/0.9': () => line('GET /healthz HTTP/0.9'),
    'HTTP/1.2': () => line('GET /healthz HTTP/1.2'),
    'HTTP/3': () => line('GET /healthz HTTP/3'),
    'a version in lower case': () => line('GET /healthz http/1.1'),
    'a version with a leading zero': () => line('GET /healthz HTTP/01.1'),
    'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS hello': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a PROXY preamble': () => 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
    'bytes that are nothing': () => '\xff\xfe\xfd\xfc',
  }

  const hosts: Table = {
    'no Host': () => 'GET /healthz HTTP/1.1\r\n\r\n',
    'two Hosts': () => header('Host: other'),
    'two equal Hosts': () => header('Host: gateway'),
    'two Hosts in other case': () => header('hOST: gateway'),
    'a list in Host': () => 'GET /healthz HTTP/1.1\r\nHost: gateway, other\r\n\r\n',
    'a space in Host': () => 'GET /healthz HTTP/1.1\r\nHost: gateway other\r\n\r\n',
    'a user in Host': () => 'GET /healthz HTTP/1.1\r\nHost: user@gateway\r\n\r\n',
    'a path in Host': () => 'GET /healthz HTTP/1.1\r\nHost: gateway/other\r\n\r\n',
    'a port that is no number in Host': () => 'GET /healthz HTTP/1.1\r\nHost: gateway:80x\r\n\r\n',
    'a target of another host': () => get('http://other/healthz'),
    'a target of another port': () => get('http://gateway:81/healthz'),
    'a target with our host as its user': () => get('http://gateway@other/healthz'),
    'a target with another host as its user': () => get('http://other@gateway/healthz'),
    'a target with a backslash': () => get('http://gateway\\@other/healthz'),
    'a target of another scheme': () => get('ftp://gateway/healthz'),
    'a target without a path to go to': () => get('*'),
    'OPTIONS of the whole server': () => line('OPTIONS * HTTP/1.1'),
    'a target that is a host and a port': () => get('gateway:80'),
    'a target without a slash': () => get('healthz'),
    'a target that begins with a backslash': () => get('\\healthz'),
  }

  const bodies: Table = {
    'GET with a length': () => `${header('Content-Length: 5')}hello`,
    'GET with chunks': () => `${header('Transfer-Encoding: chunked')}0\r\n\r\n`,
    'GET with a length that is spelt 00': () => header('Content-Length: 00'),
    'DELETE with a length': () => `${get('', 'Content-Length: 5\r\n', 'DELETE /v1/models/x HTTP/1.1')}hello`,
    'OPTIONS with a length': () => `${get('', 'Content-Length: 5\r\n', 'OPTIONS /healthz HTTP/1.1')}hello`,
    'TRACE with a length': () => `${get('', 'Content-Length: 5\r\n', 'TRACE /healthz HTTP/1.1')}hello`,
    'an unknown expectation': () => post(`Expect: 200-ok\r\nContent-Length: ${LENGTH}\r\n`, BODY),
    'an empty expectation': () => post(`Expect:\r\nContent-Length: ${LENGTH}\r\n`, BODY),
    'a hidden expectation': () => post(`Expect: y 100-continue\r\nContent-Length: ${LENGTH}\r\n`, BODY),
    'two expectations': () => post(`Expect: 100-continue\r\nExpect: x\r\nContent-Length: ${LENGTH}\r\n`, BODY),
  }

  const tunnels: Table = {
    'an upgrade to WebSocket': () => header('Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13'),
    'an upgrade to HTTP/2': () => header('Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA'),
    'an upgrade of a POST': () =>
      post(`Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: ${LENGTH}\r\n`, BODY),
    'CONNECT to another host': () => 'CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n',
    'CONNECT to a path': () => line('CONNECT /healthz HTTP/1.1'),
  }

  const tooLarge: Table = {
    'exactly as many headers as the list holds': () => get('/healthz', 'a: b\r\n'.repeat(99)),
    'more headers than the list holds': () => get('/healthz', 'a: b\r\n'.repeat(100)),
    'thousands of headers': () => get('/healthz', 'a: b\r\n'.repeat(2_500)),
    'a header value of 17 kB': () => header(`X: ${'a'.repeat(17_000)}`),
    'a header name of 17 kB': () => header(`${'a'.repeat(17_000)}: x`),
    'a path of 17 kB': () => get(`/${'a'.repeat(17_000)}`),
    'headers of 17 kB together': () => get('/healthz', `X: ${'a'.repeat(1_000)}\r\n`.repeat(17)),
    'a trailer of 20 kB': () =>
      te('Transfer-Encoding: chunked', `${HEX}\r\n${BODY}\r\n0\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`),
  }

  const groups: readonly [string, Table, number][] = [
    ['two lengths', both, 400],
    ['Transfer-Encoding', transferEncodings, 400],
    ['Content-Length', contentLengths, 400],
    ['chunks', chunks, 400],
    ['lines', lines, 400],
    ['hosts and targets', hosts, 400],
    ['bodies where none belong, and expectations', bodies, 400],
    ['tunnels', tunnels, 400],
    ['sizes', tooLarge, 431],
  ]
  for (const [group, table, status] of groups) {
    describe(group, () => {
      for (const [name, bytes] of Object.entries(table)) it(name, () => assertRefused(bytes(), status))
    })
  }

  it('HEAD with a length', async () => {
    const before = upstream.seen.length
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(`HEAD /healthz HTTP/1.1\r\nHost: gateway\r\nContent-Length: 5\r\n\r\nhello${smuggled()}`)
    const answer = await client.answer({ isToHead: true })
    assert.equal(answer?.status, 400)
    await client.closed()
    assert.equal(client.unread, '')
    await assertServes()
    assert.equal(upstream.seen.length, before + 1)
  })

  for (const [name, connection] of [
    ['a request behind one that is the last of its connection', 'Connection: close\r\n'],
    ['bytes behind a request that are no request', ''],
  ] as const) {
    it(name, async () => {
      const before = upstream.seen.length
      const client = await RawClient.connect(gateway.baseUrl)
      client.write(`${post(`${connection}Content-Length: ${LENGTH}\r\n`, BODY)}x${smuggled()}`)
      await client.closed()
      await assertServes()
      const texts = upstream.seen.slice(before).map(({ text }) => text)
      assert.ok(texts.length <= 2, 'the request itself may have been asked, and the good one after it')
      assert.ok(!texts.some(text => text.includes('smuggled')))
    })
  }

  it('bytes behind a request whose answer is being streamed, into which nothing is written', async () => {
    upstream.script = (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(chunk({ content: 'hello' }))
    }
    const client = await RawClient.connect(gateway.baseUrl)
    const body = JSON.stringify({ model: 'test-chat', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
    client.write(post(`Content-Length: ${body.length}\r\n`, body))
    await client.received('hello')
    client.write('x\r\n\r\n')
    await client.closed()
    assert.ok(client.unread.startsWith('HTTP/1.1 200 OK\r\n'))
    assert.ok(!client.unread.includes('400 Bad Request'))
    upstream.script = answerWhole()
    await assertServes()
  })
})

describe('an unusual request that means one thing only is served as one request', () => {
  const accepted: Readonly<Record<string, { bytes: () => string; status: number; reaches?: number }>> = {
    'a chunked body': { bytes: () => post('Transfer-Encoding: chunked\r\n', CHUNKED), status: 200, reaches: 1 },
    'CHUNKED in capitals': { bytes: () => post('TRANSFER-ENCODING: CHUNKED\r\n', CHUNKED), status: 200, reaches: 1 },
    'white space around chunked': {
      bytes: () => post('Transfer-Encoding:\t chunked \r\n', CHUNKED),
      status: 200,
      reaches: 1,
    },
    'an underscore in place of the hyphen': {
      bytes: () => post(`Transfer_Encoding: chunked\r\nContent-Length: ${LENGTH}\r\n`, BODY),
      status: 200,
      reaches: 1,
    },
    'a chunk extension': {
      bytes: () => post('Transfer-Encoding: chunked\r\n', `${HEX};a=b\r\n${BODY}\r\n0\r\n\r\n`),
      status: 200,
      reaches: 1,
    },
    'a trailer': {
      bytes: () => post('Transfer-Encoding: chunked\r\n', `${HEX}\r\n${BODY}\r\n0\r\nX: y\r\n\r\n`),
      status: 200,
      reaches: 1,
    },
    'a length with leading zeros': {
      bytes: () => post(`Content-Length: 00${LENGTH}\r\n`, BODY),
      status: 200,
      reaches: 1,
    },
    'Content-Length among the hop-by-hop headers': {
      bytes: () => post(`Connection: Content-Length\r\nContent-Length: ${LENGTH}\r\n`, BODY),
      status: 200,
      reaches: 1,
    },
    'a letter of the path in percent-encoding': {
      bytes: () => post(`Content-Length: ${LENGTH}\r\n`, BODY).replace('/chat/', '/ch%61t/'),
      status: 200,
      reaches: 1,
    },
    'empty lines before the request': { bytes: () => `\r\n\r\n${get('/healthz')}`, status: 200 },
    'the absolute form of our own host': { bytes: () => get('http://gateway/healthz'), status: 200 },
    'the absolute form in capitals': { bytes: () => get('HTTP://GATEWAY/healthz'), status: 200 },
    'an empty Host': { bytes: () => 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n', status: 200 },
    'a Host with a port': { bytes: () => 'GET /healthz HTTP/1.1\r\nHost: gateway:8080\r\n\r\n', status: 200 },
    'an IPv6 Host': { bytes: () => 'GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n', status: 200 },
    'GET with a length of 0': { bytes: () => get('/healthz', 'Content-Length: 0\r\n'), status: 200 },
    'Upgrade that is not asked for in Connection': {
      bytes: () => get('/healthz', 'Upgrade: websocket\r\n'),
      status: 200,
    },
    'one header fewer than the list holds': { bytes: () => get('/healthz', 'a: b\r\n'.repeat(98)), status: 200 },
    'a query of 15 kB': { bytes: () => get(`/healthz?${'a'.repeat(15_000)}`), status: 200 },
    'a path of 15 kB': { bytes: () => get(`/${'a'.repeat(15_000)}`), status: 404 },
    'a path that looks like a host': { bytes: () => get('//other/healthz'), status: 404 },
    'dot segments': { bytes: () => get('/v1/../healthz'), status: 404 },
    'dot segments in percent-encoding': { bytes: () => get('/v1/%2e%2e/healthz'), status: 404 },
    'dot segments in the absolute form': { bytes: () => get('http://gateway/v1/../healthz'), status: 404 },
    'an encoded slash between segments': { bytes: () => get('/v1%2fmodels'), status: 404 },
    'an encoded slash inside a path': {
      bytes: () => post(`Content-Length: ${LENGTH}\r\n`, BODY).replace('chat/', 'chat%2F'),
      status: 404,
    },
    'a doubled slash': { bytes: () => get('/v1//models'), status: 404 },
    'another case of the path': { bytes: () => get('/V1/Models'), status: 404 },
    'a path parameter': { bytes: () => get('/healthz;a=b'), status: 404 },
    'percent-encoding that is none': { bytes: () => get('/v1/models/%zz'), status: 400 },
    'percent-encoding that is cut off': { bytes: () => get('/v1/models/%'), status: 400 },
    'percent-encoding of what is not UTF-8': { bytes: () => get('/v1/models/%c0%af'), status: 400 },
  }
  for (const [name, { bytes, status, reaches = 0 }] of Object.entries(accepted)) {
    it(name, async () => {
      const before = upstream.seen.length
      const client = await RawClient.connect(gateway.baseUrl)
      client.write(bytes())
      const answer = await client.answer()
      assert.ok(answer, 'the connection was closed without an answer')
      if (status >= 400) assertRefusal(answer, status)
      else assert.equal(answer.status, status)
      // The connection is in step: the next request on it gets the next answer.
      client.write(get('/healthz'))
      assert.deepEqual(JSON.parse((await client.answer())?.body ?? ''), { status: 'ok' })
      assert.equal(client.unread, '')
      client.close()
      assert.equal(upstream.seen.length, before + reaches)
    })
  }

  it('HTTP/1.0 with a length, with or without a Host, after which the connection is closed', async () => {
    for (const host of ['Host: gateway\r\n', '']) {
      const client = await RawClient.connect(gateway.baseUrl)
      const bytes = post(`Content-Length: ${LENGTH}\r\n`, BODY, 'HTTP/1.0')
      client.write(bytes.replace('Host: gateway\r\n', host))
      assert.equal((await client.answer())?.status, 200)
      await client.closed()
    }
  })

  it('requests in a pipeline, each with its own answer in its own turn', async () => {
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(post(`Content-Length: ${LENGTH}\r\n`, BODY) + get('/healthz') + get('/nowhere'))
    const statuses = [await client.answer(), await client.answer(), await client.answer()].map(answer => answer?.status)
    assert.deepEqual(statuses, [200, 200, 404])
    client.close()
  })
})

describe('a body', () => {
  it('that is announced as too large is refused before any of it is sent', async () => {
    const lengths = [BODY_LIMIT + 1, 99_999_999_999, '18446744073709551615']
    await Promise.all(
      lengths.map(async length => {
        const client = await RawClient.connect(gateway.baseUrl)
        client.write(post(`Content-Length: ${length}\r\n`, ''))
        const answer = await client.answer()
        assert.ok(answer)
        assertRefusal(answer, 413)
        assert.equal(JSON.parse(answer.body).error.code, 'payload_too_large')
        await client.closed()
      }),
    )
  })

  it('that turns out too large is refused although it goes on, and the refusal can be read', async () => {
    const announced = await RawClient.connect(gateway.baseUrl)
    announced.write(post(`Content-Length: ${BODY_LIMIT + MEBIBYTE}\r\n`, ''))
    announced.write(Buffer.alloc(BODY_LIMIT + MEBIBYTE, 0x20))
    assertRefusal((await announced.answer()) as RawAnswer, 413)

    const chunked = await RawClient.connect(gateway.baseUrl)
    const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MEBIBYTE, 0x20), Buffer.from('\r\n')])
    chunked.write(post('Transfer-Encoding: chunked\r\n', ''))
    for (let sent = 0; sent <= BODY_LIMIT; sent += MEBIBYTE) chunked.write(piece)
    assertRefusal((await chunked.answer()) as RawAnswer, 413)
    announced.close()
    chunked.close()
  })

  it('of the largest size that is allowed is served', async () => {
    const before = upstream.seen.length
    const padding = ' '.repeat(BODY_LIMIT - LENGTH)
    const response = await gateway.post('/v1/chat/completions', BODY + padding)
    assert.equal(response.status, 200)
    assert.equal(upstream.seen.length, before + 1)
  })

  it('of a stranger is not waited for', async () => {
    const credentials = ['', 'Authorization: Bearer sk-nonsense\r\n']
    for (const credential of credentials) {
      const client = await RawClient.connect(gateway.baseUrl)
      client.write(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n${credential}Content-Length: ${10 * MEBIBYTE}\r\n\r\n`,
      )
      assert.equal((await client.answer())?.status, 401)
      client.close()
    }
  })

  it('is asked for with 100 Continue only when it is welcome', async () => {
    const expect = (headers: string) => `POST /v1/chat/completions HTTP/1.1\r\n${headers}Expect: 100-continue\r\n`
    const refusals = [
      [401, `${expect('Host: gateway\r\n')}Content-Length: ${LENGTH}\r\n\r\n`],
      [413, `${expect(common())}Content-Length: ${BODY_LIMIT + 1}\r\n\r\n`],
      [404, `${expect(common()).replace('/v1/chat/completions', '/nowhere')}Content-Length: ${LENGTH}\r\n\r\n`],
    ] as const
    for (const [status, head] of refusals) {
      const client = await RawClient.connect(gateway.baseUrl)
      client.write(head)
      const answer = await client.answer()
      assert.equal(answer?.status, status)
      // A client that is not invited sends no body; what it sends next must not be taken for one.
      assert.equal(answer?.headers.connection, 'close')
      await client.closed()
    }
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(`${expect(common())}Content-Length: ${LENGTH}\r\n\r\n`)
    assert.equal((await client.answer())?.status, 100)
    client.write(BODY)
    assert.equal((await client.answer())?.status, 200)
    client.close()
  })

  it('is never asked for with 100 Continue in HTTP/1.0, which knows no interim answers', async () => {
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(post(`Expect: 100-continue\r\nContent-Length: ${LENGTH}\r\n`, BODY, 'HTTP/1.0'))
    assert.equal((await client.answer())?.status, 200)
    await client.closed()
  })

  const refused: readonly [string, string | Uint8Array, string | undefined][] = [
    ['with a key twice', '{"model":"a","model":"test-chat","messages":[{"role":"user","content":"Hi"}]}', 'model'],
    ['with a key twice in two spellings', '{"model":"test-chat","mod\\u0065l":"x","messages":[]}', 'model'],
    ['with an unknown key twice', '{"x":1,"x":2,"model":"test-chat","messages":[]}', 'x'],
    ['with __proto__', '{"__proto__":{"stream":true},"model":"test-chat","messages":[]}', '__proto__'],
    ['with __proto__ in another spelling', '{"__pr\\u006fto__":{},"model":"test-chat","messages":[]}', '__proto__'],
    ['that is empty', '', undefined],
    ['that is blank', ' \r\n', undefined],
    ['that is no JSON', '{"model":', undefined],
    ['that is JSON and more', `${BODY}x`, undefined],
    ['that is two values', BODY + BODY, undefined],
    ['that is an array', `[${BODY}]`, undefined],
    ['that is a text', '"model"', undefined],
    ['that is a number', '1', undefined],
    ['that is true', 'true', undefined],
    ['that is null', 'null', undefined],
    ['that is NaN', 'NaN', undefined],
    ['with a comment', `/* */${BODY}`, undefined],
    ['with a trailing comma', BODY.replace(/}$/, ',}'), undefined],
    ['with single quotes', BODY.replaceAll('"', "'"), undefined],
    ['with a byte order mark', `\ufeff${BODY}`, undefined],
    ['in UTF-16', Buffer.from(BODY, 'utf16le'), undefined],
    ['that is not UTF-8', Buffer.from(BODY.replace('Hi', 'H\xff'), 'latin1'), undefined],
    ['with an overlong sequence', Buffer.from(BODY.replace('Hi', '\xc0\xaf'), 'latin1'), undefined],
    ['with half a surrogate pair as bytes', Buffer.from(BODY.replace('Hi', '\xed\xa0\x80'), 'latin1'), undefined],
    ['that is compressed', Buffer.from('1f8b0800000000000003abe65200022f3ed34d03000000', 'hex'), undefined],
  ]
  for (const [name, bytes, param] of refused) {
    it(`${name} is refused`, async () => {
      const before = upstream.seen.length
      const response = await gateway.fetch('/v1/chat/completions', {
        method: 'POST',
        body: typeof bytes === 'string' ? bytes : new Uint8Array(bytes),
        headers: { 'content-type': 'application/json' },
      })
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(response.status, 400)
      assert.equal(error.type, 'invalid_request_error')
      assert.equal(error.param, param)
      assert.equal(upstream.seen.length, before)
    })
  }

  it('is judged by what it is and not by its content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16']) {
      const response = await gateway.post('/v1/chat/completions', BODY, { headers: { 'content-type': type } })
      assert.equal(response.status, 200, type)
    }
  })

  it('with a content type that is none is refused in our words', async () => {
    for (const type of ['', 'nonsense', 'a/b/c']) {
      const client = await RawClient.connect(gateway.baseUrl)
      client.write(post(`Content-Length: ${LENGTH}\r\n`, BODY).replace('application/json', type))
      assertRefusal((await client.answer()) as RawAnswer, 400)
      client.close()
    }
  })
})

describe('an answer', () => {
  it('to a method that an endpoint does not have is 405 and names those that it has', async () => {
    const cases: readonly [string, string, string][] = [
      ['GET', '/v1/chat/completions', 'POST'],
      ['DELETE', '/v1/embeddings', 'POST'],
      ['POST', '/v1/models', 'GET'],
      ['PUT', '/v1/models/vendor/model', 'POST, GET'],
      ['PATCH', '/healthz', 'GET'],
      ['OPTIONS', '/v1/chat/completions', 'POST'],
      ['POST', `/v1/management/api-keys/${gateway.apiKeyId}/usage`, 'GET'],
    ]
    for (const [method, path, allow] of cases) {
      const response = await gateway.fetch(path, { method })
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(response.status, 405, `${method} ${path}`)
      assert.equal(response.headers.get('allow'), allow)
      assert.equal(error.type, 'invalid_request_error')
      assert.equal(error.code, 'method_not_allowed')
    }
  })

  it('at an unknown path is 404 with a hint, for strangers too', async () => {
    for (const path of ['/', '/v1', '/v1/nothing', '/v1/chat/completions/', '/v1/management/nothing', '/.env']) {
      const response = await gateway.fetch(path, { key: null })
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(response.status, 404, path)
      assert.equal(error.type, 'invalid_request_error')
      assert.match(String(error.hint), /openapi\.json/)
    }
  })

  it('always carries a request id of its own, in both headers that SDKs read', async () => {
    upstream.script = answerWhole()
    const stream = { model: 'test-chat', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    const answers = await Promise.all([
      gateway.fetch('/healthz'),
      gateway.fetch('/readyz'),
      gateway.fetch('/metrics'),
      gateway.fetch('/openapi.json'),
      gateway.fetch('/docs'),
      gateway.fetch('/docs/json'),
      gateway.fetch('/docs/static/swagger-ui.css'),
      gateway.fetch('/docs/nothing'),
      gateway.fetch('/v1/models'),
      gateway.fetch('/v1/models', { method: 'HEAD' }),
      gateway.fetch('/v1/models', { key: null }),
      gateway.fetch('/v1/models/%zz'),
      gateway.fetch('/nowhere'),
      gateway.post('/v1/models', {}),
      gateway.post('/v1/chat/completions', {}),
      gateway.post('/v1/chat/completions', BODY),
      gateway.post('/v1/chat/completions', stream),
      gateway
        .usage()
        .then(() => gateway.fetch('/v1/management/api-keys/key_x/usage', { key: gateway.managementToken })),
    ])
    const ids = answers.map(({ url, headers }) => {
      const id = headers.get('x-request-id')
      assert.match(id ?? '', /^req_[0-9A-Za-z]{24}$/, url)
      assert.equal(headers.get('request-id'), id, url)
      return id
    })
    assert.equal(new Set(ids).size, ids.length)
    await Promise.all(answers.map(answer => answer.text()))
  })

  it('does not echo the x-request-id of a client, which is only logged', async () => {
    const theirs = 'theirs-4711'
    const response = await gateway.post('/v1/chat/completions', BODY, {
      headers: { 'x-request-id': theirs, 'request-id': theirs },
    })
    const id = response.headers.get('x-request-id')
    assert.match(id ?? '', /^req_/)
    assert.ok(![...response.headers.values()].includes(theirs))
    const line = await eventually('the log line', () =>
      gateway.lines('request.completed').find(each => each.request_id === id),
    )
    assert.equal(line.client_request_id, theirs)
    assert.ok(!JSON.stringify(upstream.seen.at(-1)?.headers).includes(theirs))
  })
})

it('cuts clients that are too slow, and no others', { timeout: 30_000 }, () => slowClients)

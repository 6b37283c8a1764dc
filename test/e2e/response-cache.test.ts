import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { commandBeside, createKey, createToken, insertKey } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { startNumberedUpstream } from '../support/numbered-upstream.ts'
import { answerWhole, chunk, configFor, type Script, type ScriptedUpstream } from '../support/upstream.ts'

/** The response cache over HTTP: what is asked of the upstream is what counts. */

const USE = { 'x-gateway-cache': 'use' }
const REFRESH = { 'x-gateway-cache': 'refresh' }

let upstream: ScriptedUpstream
let gateway: Gateway
let database: Database
let numbered: Script
let turn = 0

before(async () => {
  upstream = await startNumberedUpstream()
  numbered = upstream.script
  gateway = await Gateway.start({ config: configFor(upstream.url, 'cache: { entry_max: 64KB }') })
  assert.ok(gateway.database)
  database = gateway.database.open()
})

after(async () => {
  await gateway?.stop()
  await upstream.stop()
})

beforeEach(async () => {
  upstream.script = numbered
  turn += 1
  await eventually('the last writes', async () => {
    const metrics = await (await gateway.fetch('/metrics')).text()
    return /^tollgate_cache_waiting_bytes 0$/m.test(metrics) ? true : undefined
  })
  await sql`delete from cached_answers`.execute(database)
})

interface Got {
  readonly status: number
  readonly state: string | null
  readonly age: string | null
  readonly text: string
  readonly requestId: string
  /** Requests that may follow within the minute. */
  readonly remaining: string | null
  /** Whether the upstream was asked. */
  readonly isAsked: boolean
}

interface Asking {
  readonly headers?: Record<string, string>
  readonly body?: object
  readonly path?: string
  readonly key?: string
}

/** A question that no test before has asked. */
async function ask({ headers = USE, body = {}, path = '/v1/chat/completions', key }: Asking = {}): Promise<Got> {
  const asked = upstream.seen.length
  const messages = [{ role: 'user', content: `Question ${turn}` }]
  const whole = { model: 'test-chat', ...(path === '/v1/chat/completions' && { messages }), ...body }
  const response = await gateway.post(path, whole, { headers, ...(key !== undefined && { key }) })
  return {
    status: response.status,
    state: response.headers.get('x-gateway-cache'),
    age: response.headers.get('age'),
    text: await response.text(),
    requestId: response.headers.get('x-request-id') ?? '',
    remaining: response.headers.get('x-ratelimit-remaining-requests'),
    isAsked: upstream.seen.length > asked,
  }
}

/** Answers are kept behind the client's back. */
function kept(count: number, store = database): Promise<true> {
  return eventually(`${count} kept answers`, async () => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from cached_answers`.execute(store)
    return rows[0]?.count === count ? true : undefined
  })
}

async function usageOf(requestId: string): Promise<Record<string, unknown>> {
  return eventually('the usage row', async () => {
    const { rows } = await sql<Record<string, unknown>>`
      select outcome, cost::float8 as cost, usage_quantity::float8 as quantity, prompt_tokens, completion_tokens,
             channel_id, price_version, billing_transaction_id
      from usage_events where request_id = ${requestId}
    `.execute(database)
    return rows[0]
  })
}

/** What requests of another kind look like; each of them has answers of its own. */
const FAMILIES: Readonly<Record<string, Asking>> = {
  'chat completions': {},
  'chat completions, streamed': { body: { stream: true } },
  messages: {
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  },
  'messages, streamed': {
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], stream: true },
  },
  responses: { path: '/v1/responses', body: { input: 'Hi', store: false } },
  'responses, streamed': { path: '/v1/responses', body: { input: 'Hi', store: false, stream: true } },
  'generate content': {
    path: '/v1beta/models/test-chat:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  'generate content, streamed as events': {
    path: '/v1beta/models/test-chat:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  'generate content, streamed as an array': {
    path: '/v1beta/models/test-chat:streamGenerateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
  embeddings: { path: '/v1/embeddings', body: { model: 'test-embedding', input: 'Hi' } },
}

describe('the response cache', () => {
  it('is off unless it is asked for', async () => {
    for (const headers of [{}, {}, { 'x-gateway-cache': 'off', 'x-gateway-cache-ttl': '60' }]) {
      const { state, age, isAsked } = await ask({ headers })
      assert.deepEqual({ state, age, isAsked }, { state: null, age: null, isAsked: true })
    }
    const { rows } = await sql`select 1 from cached_answers`.execute(database)
    assert.equal(rows.length, 0)
  })

  for (const [family, asking] of Object.entries(FAMILIES)) {
    it(`gives an answer again, byte for byte: ${family}`, async () => {
      const caching = { ...asking, headers: { ...asking.headers, ...USE } }
      const first = await ask(caching)
      assert.equal(first.status, 200, first.text)
      assert.deepEqual([first.state, first.isAsked], ['miss', true])
      await kept(1)
      const second = await ask(caching)
      assert.deepEqual([second.status, second.state, second.isAsked], [200, 'hit', false])
      assert.equal(second.text, first.text)
      assert.match(second.age ?? '', /^\d+$/)
      assert.notEqual(second.requestId, first.requestId)
    })
  }

  it('charges nothing for a hit and reports it with the tokens of then', async () => {
    const first = await ask()
    await kept(1)
    const second = await ask()
    const paid = await usageOf(first.requestId)
    const { billing_transaction_id: transaction, ...row } = await usageOf(second.requestId)
    assert.deepEqual([paid.outcome, paid.cost], ['completed', 0.00002])
    assert.deepEqual(row, {
      outcome: 'cached',
      cost: 0,
      quantity: 0,
      prompt_tokens: 10,
      completion_tokens: 5,
      channel_id: 'main',
      price_version: 'cached',
    })
    assert.match(String(transaction), /^btx_/)
    const { items } = await gateway.usage()
    const item = (id: string) => items.find(({ request_id }) => request_id === id)
    assert.deepEqual([item(first.requestId)?.cached, item(first.requestId)?.cost_decimal], [false, '0.00002'])
    assert.deepEqual([item(second.requestId)?.cached, item(second.requestId)?.cost_decimal], [true, '0'])
    assert.equal(await commandBeside(gateway, 'reconcile').then(Boolean), true)
  })

  it('asks anew on `refresh`, and gives that answer from then on', async () => {
    const first = await ask()
    await kept(1)
    const fresh = await ask({ headers: REFRESH })
    assert.deepEqual([fresh.state, fresh.isAsked], ['refresh', true])
    assert.notEqual(fresh.text, first.text)
    await eventually('the fresh answer', async () => ((await ask()).text === fresh.text ? true : undefined))
  })

  it('takes a time from the header, and no answer older than that', async () => {
    await ask({ headers: { 'x-gateway-cache-ttl': '100' } })
    await kept(1)
    await sql`update cached_answers set created_at = created_at - interval '50 seconds'`.execute(database)
    const hit = await ask({ headers: { 'x-gateway-cache-ttl': '90' } })
    assert.equal(hit.state, 'hit')
    assert.ok(Number(hit.age) >= 50 && Number(hit.age) < 90, `age ${hit.age}`)
    assert.equal((await ask({ headers: { 'x-gateway-cache-ttl': '40' } })).state, 'miss')
  })

  it('says which header is wrong, and what it takes', async () => {
    const wrong: [string, string, RegExp][] = [
      ['X-Gateway-Cache', 'yes', /`X-Gateway-Cache` must be one of use, refresh, off/],
      ['X-Gateway-Cache', '', /`X-Gateway-Cache` must be/],
      ['X-Gateway-Cache-TTL', '0', /`X-Gateway-Cache-TTL` must be a whole number of seconds from 1 to 86400/],
      ['X-Gateway-Cache-TTL', '1.5', /from 1 to 86400/],
      ['X-Gateway-Cache-TTL', '86401', /from 1 to 86400/],
      ['X-Gateway-Cache-TTL', '1h', /from 1 to 86400/],
    ]
    for (const [header, value, message] of wrong) {
      const { status, text, isAsked } = await ask({ headers: { [header]: value } })
      assert.deepEqual([status, isAsked], [400, false])
      assert.equal(JSON.parse(text).error.param, header)
      assert.match(JSON.parse(text).error.message, message)
    }
  })

  it('misses whatever is not the very same request', async () => {
    await ask()
    await kept(1)
    const others: Asking[] = [
      { body: { temperature: 0 } },
      { body: { stream: true } },
      { body: { messages: [{ content: `Question ${turn}`, role: 'user' }] } },
    ]
    for (const other of others) assert.equal((await ask(other)).state, 'miss')
    await kept(others.length + 1)
    assert.equal((await ask()).state, 'hit')
  })

  it('tells requests apart by the headers that change an answer', async () => {
    const asking = (extra: Record<string, string>) =>
      ask({ ...FAMILIES.messages, headers: { ...USE, 'anthropic-version': '2023-06-01', ...extra } })
    await asking({})
    await kept(1)
    assert.equal((await asking({ 'anthropic-beta': 'some-trial' })).state, 'miss')
    assert.equal((await asking({ 'anthropic-version': '2023-01-01' })).state, 'miss')
    assert.equal((await asking({ 'user-agent': 'another' })).state, 'hit')
  })

  it('keeps no answer that broke off, that failed, or that is too long', async () => {
    const unkept: [Script, number][] = [
      [(_request, response) => void response.writeHead(500).end('{}'), 502],
      [
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(chunk({ content: 'half an' }), () => response.destroy())
        },
        200,
      ],
      [answerWhole({ words: Array.from({ length: 1_000 }, () => 'x'.repeat(100)) }), 200],
    ]
    for (const [script, status] of unkept) {
      upstream.script = script
      const got = await ask({ body: { stream: true } })
      assert.equal(got.status, status)
    }
    upstream.script = numbered
    // Answers are written in turn: were one of those kept, it would be there before this.
    await ask({ body: { seed: 1 } })
    await kept(1)
    assert.equal((await ask({ body: { stream: true } })).state, 'miss')
  })

  it('keeps no answer whose client went away', async () => {
    const finish = Promise.withResolvers<void>()
    upstream.script = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ content: 'Hello' }))
      await finish.promise
      response.end()
    }
    const leaving = new AbortController()
    const body = { model: 'test-chat', messages: [{ role: 'user', content: `Question ${turn}` }], stream: true }
    const response = await gateway.post('/v1/chat/completions', body, { headers: USE, signal: leaving.signal })
    await response.body?.getReader().read()
    leaving.abort()
    await upstream.seen.at(-1)?.closed
    finish.resolve()
    upstream.script = numbered
    assert.equal((await ask({ body: { stream: true } })).state, 'miss')
  })

  it('leaves alone what is stored, what goes on from it, and what is free', async () => {
    const stored = { path: '/v1/responses', body: { input: 'Hi' } }
    const first = await ask(stored)
    assert.deepEqual([first.status, first.state], [200, 'bypass'])
    const goingOn = {
      ...stored,
      body: { input: 'And?', store: false, previous_response_id: JSON.parse(first.text).id },
    }
    assert.deepEqual([(await ask(goingOn)).state, (await ask(goingOn)).state], ['bypass', 'bypass'])
    const counting = await ask({ path: '/v1/responses/input_tokens', body: { input: 'Hi' } })
    assert.deepEqual([counting.status, counting.state], [200, 'bypass'])
  })

  it('serves those who have nothing left to spend', async () => {
    await commandBeside(gateway, 'orgs', 'create', `poor-${turn}`)
    await commandBeside(gateway, 'credit', 'add', `poor-${turn}`, '1')
    const { credential: key } = await createKey(gateway, '--org', `poor-${turn}`)
    await ask({ key })
    await kept(1)
    const { credential: limited } = await createKey(gateway, '--org', `poor-${turn}`, '--limit', '0')
    const refused = await ask({ key: limited, headers: {} })
    assert.equal(refused.status, 402, refused.text)
    assert.equal((await ask({ key: limited })).state, 'hit')
  })

  it('counts each hit among the requests a minute, and tells it of what is left now', async () => {
    const { credential: key } = await createKey(gateway, '--rate', '3')
    const got = [await ask({ key })]
    await kept(1)
    got.push(await ask({ key }), await ask({ key }), await ask({ key }))
    assert.deepEqual(
      got.map(({ status, state, remaining }) => [status, state, remaining]),
      [
        [200, 'miss', '2'],
        [200, 'hit', '1'],
        [200, 'hit', '0'],
        [429, null, '0'],
      ],
    )
  })

  it('never gives an answer to another organization', async () => {
    await commandBeside(gateway, 'orgs', 'create', `other-${turn}`)
    await commandBeside(gateway, 'credit', 'add', `other-${turn}`, '1')
    const { credential: key } = await createKey(gateway, '--org', `other-${turn}`)
    const mine = await ask()
    await kept(1)
    const theirs = await ask({ key })
    assert.deepEqual([theirs.state, theirs.isAsked], ['miss', true])
    assert.notEqual(theirs.text, mine.text)
    await kept(2)
    assert.equal((await ask({ key })).text, theirs.text)
    assert.equal((await ask()).text, mine.text)
  })

  it('is refused with the model that a key may not use', async () => {
    const { credential: key } = await insertKey(gateway, { models: ['test-embedding'] })
    await ask()
    await kept(1)
    const { status, state } = await ask({ key })
    assert.notEqual(status, 200)
    assert.equal(state, null)
  })

  it('stands many who ask the same at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ask()))
    for (const { status } of all) assert.equal(status, 200)
    await kept(1)
    assert.equal((await ask()).state, 'hit')
  })

  it('forgets what a workspace asks it to forget, and nothing else', async () => {
    await commandBeside(gateway, 'orgs', 'create', `third-${turn}`)
    const { credential: token } = await createToken(gateway, '--org', `third-${turn}`)
    await ask()
    await kept(1)
    const others = await manage(gateway, 'DELETE', 'cache', { key: token })
    assert.deepEqual(others, { status: 200, body: { object: 'cache', deleted: true, deleted_count: 0 } })
    assert.equal((await ask()).state, 'hit')
    const mine = await manage(gateway, 'DELETE', 'cache')
    assert.equal(mine.body.deleted_count, 1)
    assert.equal((await ask()).state, 'miss')
  })

  it('counts what it does', async () => {
    await ask()
    await kept(1)
    await ask()
    const metrics = await (await gateway.fetch('/metrics')).text()
    for (const name of ['lookups_total{result="hit"}', 'lookups_total{result="miss"}', 'stored_total', 'bytes']) {
      assert.match(metrics, new RegExp(`^tollgate_cache_${name.replace(/[{}"]/g, '\\$&')} \\d`, 'm'))
    }
  })
})

describe('a key that asks for the cache', () => {
  it('does so for all its requests, and a header overrules it', async () => {
    const created = await manage(gateway, 'POST', 'api-keys', { body: { name: 'cached', cache_ttl: 60 } })
    assert.deepEqual([created.status, created.body.cache_ttl], [201, 60])
    const key = created.body.key as string
    assert.equal((await ask({ key, headers: {} })).state, 'miss')
    await kept(1)
    assert.equal((await ask({ key, headers: {} })).state, 'hit')
    assert.equal((await ask({ key, headers: { 'x-gateway-cache': 'off' } })).state, null)
    assert.equal((await ask({ key, headers: REFRESH })).state, 'refresh')
    const cleared = await manage(gateway, 'PATCH', `api-keys/${created.body.id}`, { body: { cache_ttl: null } })
    assert.deepEqual([cleared.status, cleared.body.cache_ttl], [200, null])
    await eventually('the change', async () => ((await ask({ key, headers: {} })).state === null ? true : undefined))
  })

  it('is made on the command line as well', async () => {
    const { id, credential: key } = await createKey(gateway, '--cache-ttl', '90')
    assert.equal((await ask({ key, headers: {} })).state, 'miss')
    assert.match(await commandBeside(gateway, 'keys', 'list'), new RegExp(`${id} .* 90s`))
    await commandBeside(gateway, 'keys', 'update', id, '--cache-ttl', 'none')
    const { body } = await manage(gateway, 'GET', `api-keys/${id}`)
    assert.equal(body.cache_ttl, null)
  })

  it('takes whole seconds of at most a year', async () => {
    for (const ttl of [0, -1, 1.5, '60', 365 * 86_400 + 1]) {
      const { status, body } = await manage(gateway, 'POST', 'api-keys', { body: { cache_ttl: ttl } })
      assert.equal(status, 400)
      assert.equal(body.validation_errors[0].field, 'cache_ttl')
    }
  })
})

describe('cached answers and the configuration', () => {
  const withModel = (url: string, offer: string, price: string) => `
show_routing: true
channels:
  - { id: main, name: Main, provider: openai, base_url: "${url}/v1", api_key: sk-upstream-secret }
models:
  - id: test-chat
    scene: chat
    max_output_tokens: 1000
    price: { input: "${price}", output: "2" }
    offers: [{ channel: main, upstream_model: ${offer} }]
`
  const reloaded = (other: Gateway, times: number) =>
    eventually('the reload', () => (other.lines('config.reloaded').length >= times ? true : undefined))

  it('count while the price changes, and no longer when another upstream model answers', async () => {
    const other = await Gateway.start({ config: withModel(upstream.url, 'one', '1') })
    try {
      const body = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }
      const state = async () => {
        const response = await other.post('/v1/chat/completions', body, { headers: USE })
        const { _routing } = (await response.json()) as { _routing: { cached: boolean } }
        return [response.headers.get('x-gateway-cache'), _routing.cached]
      }
      assert.deepEqual(await state(), ['miss', false])
      await eventually('a hit', async () => ((await state())[0] === 'hit' ? true : undefined))
      await other.writeConfig(withModel(upstream.url, 'one', '3'))
      await reloaded(other, 1)
      assert.deepEqual(await state(), ['hit', true])
      await other.writeConfig(withModel(upstream.url, 'two', '3'))
      await reloaded(other, 2)
      assert.deepEqual(await state(), ['miss', false])
    } finally {
      await other.stop()
    }
  })

  it('show in `_routing` that they are cached, in every format and in streams', async () => {
    const other = await Gateway.start({ config: withModel(upstream.url, 'one', '1') })
    const store = other.database?.open() as Database
    try {
      for (const [family, { path = '/v1/chat/completions', headers, body }] of Object.entries(FAMILIES)) {
        if (family === 'embeddings') continue
        const messages = [{ role: 'user', content: 'Hi' }]
        const whole = { model: 'test-chat', ...(path === '/v1/chat/completions' && { messages }), ...body }
        const got = async () => {
          const response = await other.post(path, whole, { headers: { ...headers, ...USE } })
          return { state: response.headers.get('x-gateway-cache'), text: await response.text() }
        }
        await sql`delete from cached_answers`.execute(store)
        const first = await got()
        await kept(1, store)
        const second = await got()
        const channel = '{"id":"main","name":"Main","provider":"openai","channelType":"PLATFORM"}'
        const routing = (isCached: boolean) => `"_routing":{"channel":${channel},"cached":${isCached},"retryCount":0}`
        assert.ok(first.text.includes(routing(false)), family)
        assert.equal(second.text, first.text.replace(routing(false), routing(true)), family)
      }
    } finally {
      await other.stop()
    }
  })

  it('have bounds that a mistaken configuration is told of', async () => {
    const { code, errors } = await Gateway.startFailing({
      config: `${configFor(upstream.url)}\ncache: { size_max: 1TB, ttl_max: forever }`,
      environment: {},
    })
    assert.notEqual(code, 0)
    assert.match(errors, /cache\.size_max/)
    assert.match(errors, /cache\.ttl_max/)
  })
})

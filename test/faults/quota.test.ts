import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '#storage/database.ts'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet } from '../support/fleet.ts'
import type { Gateway } from '../support/gateway.ts'
import type { TestPayer } from '../support/payer.ts'
import { scale, seeds } from '../support/scale.ts'
import {
  answerWhole,
  chunk,
  completion,
  DONE,
  lastChunk,
  type Script,
  ScriptedUpstream,
  usageChunk,
} from '../support/upstream.ts'

/**
 * The promise under test: all nodes together never spend more than there is, spend what there is to the last request
 * that fits, and keep nothing back for requests that are over, however they ended.
 */

const NODES = 3
const CLIENTS = 500
/** A token costs 0.001 USD and a request allows 10 of them: 0.01 USD at most. */
const TOKENS_MAX = 10
const USD_PER_TOKEN = 0.001
const LIMIT = '1.00'
/** Leases that nobody uses are back after 10 s, and dead connections are noticed within a few. */
const SETTLED_MS = 40_000
const SEEDS = seeds(scale('TOLLGATE_SEEDS', 3))
const RESTARTS = seeds(scale('TOLLGATE_RESTARTS', 1))

function configOf(upstream: ScriptedUpstream): string {
  return `
limits: { requests_per_minute: { user: 1000000 } }
channels:
  - { id: main, provider: openai, base_url: "${upstream.url}/v1", api_key: sk-upstream }
  - { id: hasty, provider: openai, base_url: "${upstream.url}/v1", api_key: sk-upstream, timeout: { first_byte: 200ms } }
  - { id: closed, provider: openai, base_url: "http://127.0.0.1:9/v1", api_key: sk-upstream }
models:
  - id: coin-chat
    scene: chat
    max_output_tokens: ${TOKENS_MAX}
    price: { input: "0", output: "${USD_PER_TOKEN}", per: 1 }
    offers: [{ channel: main }]
  - id: hasty-chat
    scene: chat
    max_output_tokens: ${TOKENS_MAX}
    price: { input: "0", output: "${USD_PER_TOKEN}", per: 1 }
    offers: [{ channel: hasty }]
  - id: closed-chat
    scene: chat
    max_output_tokens: ${TOKENS_MAX}
    price: { input: "0", output: "${USD_PER_TOKEN}", per: 1 }
    offers: [{ channel: closed }]
  - id: endless-chat # nothing says how long its answers may be: 4,096 tokens are set aside
    scene: chat
    price: { input: "0", output: "0.0001", per: 1 }
    offers: [{ channel: main }]
`
}

/** How much a request uses, known to the test and to the upstream alike: 1 to 10 tokens. */
function tokensOf(number: number): number {
  return 1 + (((number * 2_654_435_761) % 4_294_967_296) % TOKENS_MAX)
}

function numberOf(body: Record<string, unknown>): number {
  return Number((body.messages as { content: string }[])[0]?.content)
}

/** Takes 0 to 15 ms for an answer. */
function coinUpstream(): Promise<ScriptedUpstream> {
  return ScriptedUpstream.start(async ({ body }, response) => {
    const number = numberOf(body)
    const tokens = tokensOf(number)
    const usage = { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }
    await sleep(number % 16)
    if (body.stream !== true) return void response.end(JSON.stringify(completion({ usage })))
    response.setHeader('content-type', 'text/event-stream')
    response.end(chunk({ content: 'coin' }) + lastChunk() + usageChunk(usage) + DONE)
  })
}

interface Tally {
  answered: number
  /** What the clients saw whole. */
  tokens: number
  refusedForGood: number
  /** By code: answers that said "later". */
  readonly later: Record<string, number>
}

/** One client with one request: it comes back until it is answered or refused for good. */
async function spend(
  fleet: Fleet,
  { credential }: TestPayer,
  number: number,
  { tally, mayFail }: { tally: Tally; mayFail: boolean },
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const gateway = fleet.gateways[(number + attempt) % fleet.gateways.length] as Gateway
    const body = { model: 'coin-chat', stream: number % 2 === 0, messages: [{ role: 'user', content: String(number) }] }
    const answer = await gateway
      .post('/v1/chat/completions', body, { key: credential })
      .then(async response => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined)
    if (answer?.status === 200 && (answer.text.endsWith(DONE) || !body.stream)) {
      tally.answered += 1
      tally.tokens += tokensOf(number)
      return
    }
    const error = answer && answer.status !== 200 ? JSON.parse(answer.text).error : undefined
    if (error && error.retryable !== true) {
      assert.equal(answer?.status, 402, answer?.text)
      tally.refusedForGood += 1
      return
    }
    assert.ok(error || mayFail, `request ${number} broke off: ${answer?.text}`)
    const code = error?.code ?? 'broken'
    tally.later[code] = (tally.later[code] ?? 0) + 1
    await sleep(30 + (number % 50))
  }
}

async function spendAll(fleet: Fleet, payer: TestPayer, seed: number, { mayFail = false } = {}): Promise<Tally> {
  const tally: Tally = { answered: 0, tokens: 0, refusedForGood: 0, later: {} }
  const numbers = Array.from({ length: CLIENTS }, (_, i) => seed * CLIENTS + i)
  await Promise.all(numbers.map(number => spend(fleet, payer, number, { tally, mayFail })))
  return tally
}

/** Waits until nothing is leased any more, and checks the books. */
async function assertSettled(fleet: Fleet): Promise<void> {
  await eventually('all leases to be back', async () => ((await fleet.leased()) === 0 ? true : undefined), SETTLED_MS)
  assert.equal(await fleet.reconcile(), undefined)
}

function assertSpent(posted: number): void {
  assert.ok(posted <= 1, `${posted} USD were posted`)
  assert.ok(posted >= 0.99, `only ${posted} USD were used`)
}

describe('one dollar on three nodes', () => {
  let upstream: ScriptedUpstream
  let testDatabase: TestDatabase
  let fleet: Fleet

  before(async () => {
    upstream = await coinUpstream()
    testDatabase = await createTestDatabase()
    fleet = await Fleet.start(NODES, {
      url: testDatabase.url,
      database: testDatabase.open(),
      config: configOf(upstream),
    })
  })

  after(async () => {
    await fleet.stop()
    await upstream.stop()
    await testDatabase.drop()
  })

  for (const seed of SEEDS) {
    it(`is the limit of a key: ${CLIENTS} requests at once spend it and no more (seed ${seed})`, async t => {
      const payer = await fleet.createPayer({ credit: '50', limit: LIMIT })
      const tally = await spendAll(fleet, payer, seed)
      await assertSettled(fleet)
      const posted = await fleet.postedFor(payer)
      assertSpent(posted)
      assert.equal(Math.round(posted * 1000), tally.tokens, 'what the clients saw is what was posted')
      t.diagnostic(JSON.stringify({ posted, ...tally }))
    })

    it(`is the credit of an organization: ${CLIENTS} requests at once spend it and no more (seed ${seed})`, async t => {
      const payer = await fleet.createPayer({ credit: LIMIT })
      const tally = await spendAll(fleet, payer, seed + 1_000)
      await assertSettled(fleet)
      const posted = await fleet.postedFor(payer)
      assertSpent(posted)
      assert.equal(Math.round(posted * 1000), tally.tokens, 'what the clients saw is what was posted')
      t.diagnostic(JSON.stringify({ posted, ...tally }))
    })
  }

  for (const seed of RESTARTS) {
    it(`is not overspent when a node is killed under way, and spent when it is back (seed ${seed})`, {
      timeout: 120_000,
    }, async t => {
      const payer = await fleet.createPayer({ credit: '50', limit: LIMIT })
      const spending = spendAll(fleet, payer, seed + 2_000, { mayFail: true })
      await eventually('the first postings', async () => ((await fleet.postedFor(payer)) > 0.1 ? true : undefined))
      const victim = seed % NODES
      await fleet.gateways[victim]?.kill()
      await fleet.launch(victim)
      const tally = await spending
      await assertSettled(fleet)
      const posted = await fleet.postedFor(payer)
      assertSpent(posted)
      t.diagnostic(JSON.stringify({ posted, ...tally }))
    })
  }
})

/** How a request may end, by what the upstream or the client does. `undefined`: the upstream says nothing at all. */
const ENDINGS: Readonly<Record<string, Script | undefined>> = {
  whole: answerWhole(),
  'refused as invalid': status(400),
  'refused as too much': status(429),
  'failed upstream': status(500),
  'unavailable upstream': status(503),
  'nonsense instead of an answer': (_request, response) => void response.end('<html>'),
  'nonsense in the stream': (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.end(`${chunk({ content: 'coin' })}data: {"choices":\n\n`)
  },
  'cut after the first byte': (_request, response, socket) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(chunk({ content: 'coin' }), () => socket.destroy())
  },
  'cut before the first byte': (_request, _response, socket) => void socket.destroy(),
  'left before the first byte': undefined,
  'left after the first byte': (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(chunk({ content: 'coin' }))
  },
  'out of time': undefined,
  'no connection': undefined,
}

const MODELS: Readonly<Record<string, string>> = { 'out of time': 'hasty-chat', 'no connection': 'closed-chat' }

function status(code: number): Script {
  return (_request, response) => {
    response.statusCode = code
    response.end(JSON.stringify({ error: { message: 'no' } }))
  }
}

async function endsSomehow(
  gateway: Gateway,
  { credential }: TestPayer,
  ending: string,
  stream: boolean,
): Promise<void> {
  const model = MODELS[ending] ?? 'coin-chat'
  const leaving = new AbortController()
  const body = { model, stream, messages: [{ role: 'user', content: ending }] }
  const asked = gateway.post('/v1/chat/completions', body, { key: credential, signal: leaving.signal })
  if (ending === 'left before the first byte') setTimeout(() => leaving.abort(), 100)
  const response = await asked.catch(() => undefined)
  if (ending === 'left after the first byte') {
    if (stream) await response?.body?.getReader().read()
    leaving.abort()
  } else await response?.text().catch(() => {})
}

async function heldOn(gateway: Gateway): Promise<number> {
  const metrics = await (await gateway.fetch('/metrics')).text()
  return Number(/^tollgate_quota_held_usd (\S+)$/m.exec(metrics)?.[1])
}

describe('requests that end', () => {
  let upstream: ScriptedUpstream
  let testDatabase: TestDatabase
  let fleet: Fleet

  before(async () => {
    upstream = await ScriptedUpstream.start((request, response, socket) =>
      ENDINGS[(request.body.messages as { content: string }[])[0]?.content ?? '']?.(request, response, socket),
    )
    testDatabase = await createTestDatabase()
    fleet = await Fleet.start(2, { url: testDatabase.url, database: testDatabase.open(), config: configOf(upstream) })
  })

  after(async () => {
    await fleet.stop()
    await upstream.stop()
    await testDatabase.drop()
  })

  it('leave nothing held and nothing leased, in whatever way they end', { timeout: 120_000 }, async () => {
    const payer = await fleet.createPayer({ credit: '50', limit: '20' })
    const requests: Promise<void>[] = []
    for (let round = 0; round < 12; round++) {
      for (const ending of Object.keys(ENDINGS)) {
        for (const gateway of fleet.gateways) {
          // What is never answered and never streamed cannot be left after its first byte.
          const stream = round % 2 === 0 || ending === 'left after the first byte'
          requests.push(endsSomehow(gateway, payer, ending, stream))
        }
      }
    }
    await Promise.all(requests)
    for (const gateway of fleet.gateways) {
      await eventually('nothing held', async () => ((await heldOn(gateway)) === 0 ? true : undefined))
    }
    await assertSettled(fleet)
    assert.ok((await fleet.postedFor(payer)) > 0)
  })

  it('leave nothing held and nothing leased when their node is killed', { timeout: 120_000 }, async () => {
    const payer = await fleet.createPayer({ credit: '50', limit: '20' })
    const seen = upstream.seen.length
    const [gateway] = fleet.gateways as [Gateway]
    const requests = Array.from({ length: 20 }, (_, i) =>
      endsSomehow(gateway, payer, 'left before the first byte', i % 2 === 0),
    )
    await eventually('requests under way', () => (upstream.seen.length > seen ? true : undefined))
    await gateway.kill()
    await Promise.all(requests)
    assert.ok((await fleet.leased()) > 0, 'what a dead node has leased stays leased')
    await fleet.launch(0)
    await assertSettled(fleet)
  })
})

describe('a stream that outgrows what was set aside for it', () => {
  it('goes on while there is more, and then ends with an honest error and a charge for what came', async () => {
    const words = `${'word '.repeat(50)}`
    const upstream = await ScriptedUpstream.start(async (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      while (response.writable && !response.socket?.destroyed) {
        if (!response.write(chunk({ content: words })))
          await Promise.race([once(response, 'drain'), once(response, 'close')])
        await sleep(1)
      }
    })
    const testDatabase = await createTestDatabase()
    const database = testDatabase.open()
    const fleet = await Fleet.start(1, { url: testDatabase.url, database, config: configOf(upstream) })
    try {
      // 4,096 tokens at first are 0.4096 USD; two slices of 1,024 more are 0.2048 USD.
      const payer = await fleet.createPayer({ credit: '50', limit: '0.65' })
      const body = { model: 'endless-chat', stream: true, messages: [{ role: 'user', content: 'Go on' }] }
      const response = await fleet.gateways[0]?.post('/v1/chat/completions', body, { key: payer.credential })
      const text = (await response?.text()) ?? ''
      const events = text.trim().split('\n\n')
      assert.equal(JSON.parse(events.at(-1)?.slice('data: '.length) ?? '').error.code, 'quota_exceeded')
      assert.ok(!text.includes(DONE.trim()))
      const row = await eventually('the row', async () => (await fleet.rowsOf(payer))[0])
      assert.equal(row.outcome, 'stopped')
      assert.equal(row.is_estimated, true)
      assert.ok(Number(row.cost) > 0.6144 && Number(row.cost) < 0.65, `${row.cost} USD were charged`)
      await assertSettled(fleet)
    } finally {
      await fleet.stop()
      await upstream.stop()
      await testDatabase.drop()
    }
  })
})

describe('one dollar while Postgres restarts', () => {
  for (const seed of RESTARTS) {
    it(`is spent and not overspent (seed ${seed})`, { timeout: 120_000 }, t => spendOverRestart(seed, t))
  }
})

async function spendOverRestart(seed: number, t: TestContext): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-quota-'))
  const launch = async () => {
    const server = new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
    await server.start()
    return server
  }
  let server = await launch()
  const { socketFolder } = server.address as { socketFolder: string }
  const url = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
  const database = openDatabase({ url }, { connectionsMax: 4, onIdleError: () => {} })
  const upstream = await coinUpstream()
  const fleet = await Fleet.start(NODES, { url, database, config: configOf(upstream) })
  try {
    const payer = await fleet.createPayer({ credit: LIMIT })
    const spending = spendAll(fleet, payer, seed + 3_000)
    await eventually('the first postings', async () => ((await fleet.postedFor(payer)) > 0.1 ? true : undefined))
    await server.stop()
    server = await launch()
    const tally = await spending
    await assertSettled(fleet)
    const posted = await fleet.postedFor(payer)
    assertSpent(posted)
    assert.equal(Math.round(posted * 1000), tally.tokens, 'what the clients saw is what was posted')
    t.diagnostic(JSON.stringify({ posted, ...tally }))
  } finally {
    await fleet.stop()
    await upstream.stop()
    await database.destroy()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { openDatabase } from '#storage/database.ts'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet } from '../support/fleet.ts'
import type { Gateway } from '../support/gateway.ts'
import type { TestPayer } from '../support/payer.ts'
import { scale } from '../support/scale.ts'
import { chunk, completion, DONE, lastChunk, type Script, ScriptedUpstream, usageChunk } from '../support/upstream.ts'

/**
 * The promise under test: whatever way requests end, in any mixture, while nodes are stopped and killed and Postgres
 * restarts, nothing stays held or leased, the books agree, and the upstream's own log is accounted for call by call:
 * each is a usage row or a failed attempt.
 */

const REQUESTS = scale('TOLLGATE_REQUESTS', 1_500)
const CLIENTS = 60
const NODES = 2
/** Restarts spread over the run, in turn: a node by SIGTERM, Postgres, a node by SIGKILL. */
const RESTARTS = Math.max(3, Math.round(REQUESTS / 1_000))
const TOKENS_MAX = 10
const SETTLED_MS = 60_000
/** Who is told to come back later does not come back at once; otherwise an outage would use up all requests. */
const TOLD_TO_WAIT_MS = 50

type Stage = 'usage' | 'failed' | 'usage and failed' | 'either' | 'nothing'

/** One way to end: what the upstream does, what the client does, and what each upstream call must leave behind. */
interface Ending {
  readonly offers: readonly string[]
  /** What the upstream does on the channel `main`; `undefined`: it says nothing. */
  readonly script?: Script
  readonly leaves?: 'before the first byte' | 'after the first byte'
  /** Who pays has too little for all who ask at once. */
  readonly isPoor?: boolean
  /** What calls on `main` leave behind. */
  readonly main: Stage
}

const ENDINGS: Readonly<Record<string, Ending>> = {
  whole: { offers: ['main'], script: answer, main: 'usage' },
  'refused-as-invalid': { offers: ['main', 'spare'], script: status(400), main: 'failed' },
  'failed-upstream': { offers: ['main', 'spare'], script: status(500), main: 'failed' },
  'no-connection': { offers: ['closed'], main: 'nothing' },
  'out-of-time': { offers: ['hasty'], main: 'failed' },
  'left-before-the-first-byte': { offers: ['main'], leaves: 'before the first byte', main: 'failed' },
  'left-after-the-first-byte': { offers: ['main'], script: begin, leaves: 'after the first byte', main: 'either' },
  'cut-in-the-middle': { offers: ['main'], script: cut, main: 'either' },
  'malformed-stream': { offers: ['main'], script: nonsense, main: 'either' },
  'cancelled-while-it-waits': { offers: ['main'], leaves: 'before the first byte', isPoor: true, main: 'failed' },
  'fallback-after-a-refusal': { offers: ['main', 'spare'], script: status(429), main: 'failed' },
  'fallback-after-no-connection': { offers: ['closed', 'spare'], main: 'nothing' },
}

const NAMES = Object.keys(ENDINGS)

function configOf({ url }: ScriptedUpstream): string {
  const models = Object.entries(ENDINGS).map(
    ([id, { offers }]) => `
  - id: ${id}
    scene: chat
    max_output_tokens: ${TOKENS_MAX}
    price: { input: "0", output: "0.001", per: 1 }
    offers: [${offers.map(channel => `{ channel: ${channel} }`).join(', ')}]`,
  )
  return `
drain: { deadline: 1s }
channels:
  - { id: main, provider: openai, base_url: "${url}/main", api_key: sk-upstream }
  - { id: spare, provider: openai, base_url: "${url}/spare", api_key: sk-upstream }
  - { id: hasty, provider: openai, base_url: "${url}/hasty", api_key: sk-upstream, timeout: { first_byte: 200ms } }
  - { id: closed, provider: openai, base_url: "http://127.0.0.1:9/v1", api_key: sk-upstream }
models:${models.join('')}
`
}

interface Numbered {
  readonly ending: string
  readonly number: number
}

function numbered(body: Record<string, unknown>): Numbered {
  const number = Number((body.messages as { content: string }[])[0]?.content)
  return { ending: String(body.model), number }
}

function tokensOf(number: number): number {
  return 1 + (number % TOKENS_MAX)
}

/** A whole answer, whose prompt tokens are the request's number: a row can be traced without asking the gateway. */
function answer({ body }: Parameters<Script>[0], response: Parameters<Script>[1]): void {
  const { number } = numbered(body)
  const tokens = tokensOf(number)
  const usage = { prompt_tokens: number, completion_tokens: tokens, total_tokens: number + tokens }
  if (body.stream !== true) return void response.end(JSON.stringify(completion({ usage })))
  response.setHeader('content-type', 'text/event-stream')
  response.end(chunk({ content: 'word' }) + lastChunk() + usageChunk(usage) + DONE)
}

function begin(_request: unknown, response: Parameters<Script>[1]): void {
  response.setHeader('content-type', 'text/event-stream')
  response.write(chunk({ content: 'word' }))
}

function cut(_request: unknown, response: Parameters<Script>[1], socket: Parameters<Script>[2]): void {
  response.setHeader('content-type', 'text/event-stream')
  response.write(chunk({ content: 'word' }), () => socket.destroy())
}

function nonsense(_request: unknown, response: Parameters<Script>[1]): void {
  response.setHeader('content-type', 'text/event-stream')
  response.end(`${chunk({ content: 'word' })}data: {"choices":\n\n`)
}

function status(code: number): Script {
  return (_request, response) => {
    response.statusCode = code
    response.end(JSON.stringify({ error: { message: 'no' } }))
  }
}

/** The oracle: how often each ending was asked for on each channel. */
class UpstreamLog {
  readonly calls = new Map<string, number>()
  readonly numbers = new Set<number>()

  note(channel: string, { ending, number }: Numbered): void {
    const name = `${ending} on ${channel}`
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1)
    this.numbers.add(number)
  }
}

async function startUpstream(log: UpstreamLog): Promise<ScriptedUpstream> {
  return ScriptedUpstream.start((request, response, socket) => {
    const channel = request.path.split('/')[1] ?? ''
    const call = numbered(request.body)
    log.note(channel, call)
    if (channel === 'spare') return answer(request, response)
    return ENDINGS[call.ending]?.script?.(request, response, socket)
  })
}

/** Sends requests, each ending in the next way, until all are over. */
class Clients {
  /** Numbers whose answers were whole. */
  readonly whole = new Set<number>()
  /** Requests under way on each node. */
  readonly underWay = Array.from({ length: NODES }, () => 0)
  /** Resolves when a node that is away has come back. */
  readonly back: Promise<void>[] = []
  sent = 0
  readonly #fleet: Fleet
  readonly #rich: TestPayer
  readonly #poor: TestPayer

  constructor(fleet: Fleet, payers: { rich: TestPayer; poor: TestPayer }) {
    this.#fleet = fleet
    this.#rich = payers.rich
    this.#poor = payers.poor
  }

  run(): Promise<unknown> {
    return Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (this.sent < REQUESTS) {
          this.sent += 1
          await this.#ask(this.sent)
        }
      }),
    )
  }

  async #ask(number: number): Promise<void> {
    const name = NAMES[number % NAMES.length] as string
    const ending = ENDINGS[name] as Ending
    const node = number % NODES
    const stream = ending.leaves === 'after the first byte' || Math.floor(number / NAMES.length) % 2 === 0
    await this.back[node]
    const leaving = new AbortController()
    if (ending.leaves === 'before the first byte') setTimeout(() => leaving.abort(), 20 + (number % 100))
    this.underWay[node] = (this.underWay[node] ?? 0) + 1
    const body = { model: name, stream, messages: [{ role: 'user', content: String(number) }] }
    const { credential } = ending.isPoor ? this.#poor : this.#rich
    try {
      const response = await (this.#fleet.gateways[node] as Gateway).post('/v1/chat/completions', body, {
        key: credential,
        signal: leaving.signal,
      })
      if (ending.leaves === 'after the first byte') {
        await response.body?.getReader().read()
        leaving.abort()
      } else {
        const text = await response.text()
        if (response.status === 503) await sleep(TOLD_TO_WAIT_MS)
        if (response.status === 200 && (stream ? text.endsWith(DONE) : text.includes('"usage"'))) this.whole.add(number)
      }
    } catch {
      // The client has left, or a node has.
    }
    this.underWay[node] = (this.underWay[node] ?? 0) - 1
  }
}

/** What the gateway says of each ending and channel. */
async function readAccounts(fleet: Fleet): Promise<Map<string, { usage: number; failed: number; unsent: number }>> {
  const { rows } = await sql<{ name: string; usage: number; failed: number; unsent: number }>`
    select model || ' on ' || channel_id as name, sum(usage) as usage, sum(failed) as failed, sum(unsent) as unsent
    from (
      select model, channel_id, 1 as usage, 0 as failed, 0 as unsent from usage_events
      union all
      select model, channel_id, 0, 1, (reason = 'client_gone' and status is null)::int from failed_attempts
    ) each group by 1
  `.execute(fleet.database)
  return new Map(rows.map(({ name, ...counts }) => [name, mapNumbers(counts)]))
}

function mapNumbers<T extends Record<string, unknown>>(counts: T): { [K in keyof T]: number } {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)])) as {
    [K in keyof T]: number
  }
}

interface Row {
  readonly prompt_tokens: number
  readonly cost: string
}

describe(`${REQUESTS} requests ended in ${NAMES.length} ways, through restarts of everything`, () => {
  it('leave nothing held, and each upstream call in the books', { timeout: 60_000 + REQUESTS * 60 }, async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-endings-'))
    const launch = async () => {
      const server = new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
      await server.start()
      return server
    }
    let server = await launch()
    const { socketFolder } = server.address as { socketFolder: string }
    const url = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
    const database = openDatabase({ url }, { connectionsMax: 4, onIdleError: () => {} })
    const log = new UpstreamLog()
    const upstream = await startUpstream(log)
    const fleet = await Fleet.start(NODES, { url, database, config: configOf(upstream) })
    try {
      const rich = await fleet.createPayer({ credit: '100000', limit: '100000' })
      const poor = await fleet.createPayer({ credit: '100', limit: '0.03' })
      const clients = new Clients(fleet, { rich, poor })
      const running = clients.run()
      let killed = 0
      for (let restart = 0; restart < RESTARTS; restart++) {
        const due = Math.round((REQUESTS * (restart + 1)) / (RESTARTS + 1))
        await eventually('the next restart', () => (clients.sent >= due ? true : undefined), REQUESTS * 60)
        const node = restart % NODES
        if (restart % 3 === 1) {
          await server.stop()
          server = await launch()
          continue
        }
        const { promise, resolve } = Promise.withResolvers<void>()
        clients.back[node] = promise
        if (restart % 3 === 0) assert.equal(await fleet.gateways[node]?.terminate(), 0)
        else {
          killed += clients.underWay[node] ?? 0
          await fleet.gateways[node]?.kill()
        }
        await fleet.launch(node)
        resolve()
      }
      await running
      const endedAtMs = performance.now()
      await eventually('no lease', async () => ((await fleet.leased()) === 0 ? true : undefined), SETTLED_MS)
      const settledMs = Math.round(performance.now() - endedAtMs)
      for (const gateway of fleet.gateways) assert.equal(await heldOn(gateway), 0)
      assert.equal(await fleet.reconcile(), undefined)
      const accounts = await readAccounts(fleet)
      const missing = assertAccounted(accounts, log)
      assert.ok(missing <= killed, `${missing} upstream calls left no trace, and ${killed} were killed`)
      await assertRows(fleet, clients, log)
      t.diagnostic(JSON.stringify({ settledMs, killed, missing, whole: clients.whole.size, calls: total(log) }))
    } finally {
      await fleet.stop()
      await upstream.stop()
      await database.destroy()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

async function heldOn(gateway: Gateway): Promise<number> {
  const metrics = await (await gateway.fetch('/metrics')).text()
  return Number(/^tollgate_quota_held_usd (\S+)$/m.exec(metrics)?.[1])
}

/** @returns how many calls in the upstream's log the gateway knows nothing of: those of nodes that were killed */
function assertAccounted(
  accounts: Map<string, { usage: number; failed: number; unsent: number }>,
  { calls }: UpstreamLog,
): number {
  let missing = 0
  for (const [name, { usage, failed, unsent }] of accounts) {
    const [ending = '', channel = ''] = name.split(' on ')
    if (channel === 'closed') continue
    const seen = calls.get(name) ?? 0
    // A client that left may have done so before its request was sent.
    assert.ok(usage + failed - unsent <= seen, `${name}: ${usage} rows and ${failed} failures of ${seen} calls`)
    missing += Math.max(0, seen - usage - failed)
    const stage = channel === 'spare' ? 'usage and failed' : (ENDINGS[ending] as Ending).main
    if (stage === 'usage') assert.ok(usage > 0, `${name} is charged`)
    if (stage === 'failed') assert.equal(usage, 0, `${name} is not charged`)
  }
  for (const name of calls.keys()) assert.ok(accounts.has(name), `${name} is in the books`)
  return missing
}

/** Whole answers have one row each, at the price of what the upstream says it gave. */
async function assertRows(fleet: Fleet, { whole }: Clients, { numbers }: UpstreamLog): Promise<void> {
  const { rows } = await sql<Row>`
    select prompt_tokens, trim_scale(cost)::text as cost from usage_events
    where outcome = 'completed' and not is_estimated
  `.execute(fleet.database)
  const byNumber = new Map(rows.map(row => [row.prompt_tokens, row]))
  assert.equal(byNumber.size, rows.length, 'no request is charged twice')
  for (const number of whole) {
    assert.equal(Number(byNumber.get(number)?.cost), tokensOf(number) / 1_000, `request ${number}`)
  }
  for (const number of byNumber.keys()) assert.ok(numbers.has(number), `request ${number} was asked for`)
}

function total({ calls }: UpstreamLog): number {
  return [...calls.values()].reduce((sum, count) => sum + count, 0)
}

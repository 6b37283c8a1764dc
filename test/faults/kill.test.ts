import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { formatUsd } from '#core/money.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway, type GatewayOptions } from '../support/gateway.ts'
import { scale } from '../support/scale.ts'
import { chunk, completion, configFor, DONE, lastChunk, ScriptedUpstream, usageChunk } from '../support/upstream.ts'

/**
 * The promise under test: what a client saw whole is billed exactly once and exactly right, whenever the gateway is
 * killed; and nothing is billed that no client asked for. Every request carries a number that the upstream reports as
 * its prompt tokens, so that each row can be traced to its request without asking the gateway.
 */

const KILLS = scale('TOLLGATE_KILLS', 30)
const CLIENTS = 12
const LIFE_MS_MAX = 400
const OUTPUT_TOKENS = 7
/** A request costs its number in micro-dollars, and numbers run on while no gateway is there to ask. */
const CREDIT = 'bootstrap: { credit: "1000000" }'

interface Answered {
  readonly number: number
  readonly requestId: string
}

class Load {
  readonly answered: Answered[] = []
  gateway: Gateway | undefined
  #next = 1
  #isOver = false

  run(): Promise<unknown> {
    return Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#client(client)))
  }

  end(): void {
    this.#isOver = true
  }

  async #client(client: number): Promise<void> {
    while (!this.#isOver) {
      const number = this.#next++
      const requestId = await this.#ask(number, client % 2 === 0).catch(() => undefined)
      if (requestId === undefined) await sleep(5)
      else this.answered.push({ number, requestId })
    }
  }

  /** @returns the id of an answer that came whole; `undefined` for anything less */
  async #ask(number: number, isStream: boolean): Promise<string | undefined> {
    const { gateway } = this
    if (!gateway) return undefined
    const response = await gateway.post('/v1/chat/completions', {
      model: 'test-chat',
      stream: isStream,
      messages: [{ role: 'user', content: String(number) }],
    })
    const text = await response.text()
    const isWhole = response.status === 200 && (isStream ? text.endsWith(DONE) : text.includes('"choices"'))
    return isWhole ? (response.headers.get('x-request-id') ?? undefined) : undefined
  }
}

/** Answers in a few milliseconds, so that kills find requests in every phase. */
function numberedUpstream(asked: Set<number>): Promise<ScriptedUpstream> {
  return ScriptedUpstream.start(async ({ body }, response) => {
    const number = Number((body.messages as { content: string }[])[0]?.content)
    asked.add(number)
    const usage = { prompt_tokens: number, completion_tokens: OUTPUT_TOKENS, total_tokens: number + OUTPUT_TOKENS }
    await sleep(number % 7)
    if (body.stream !== true) return void response.end(JSON.stringify(completion({ usage })))
    response.setHeader('content-type', 'text/event-stream')
    for (const word of ['one', ' two', ' three']) {
      response.write(chunk({ content: word }))
      await sleep(number % 3)
    }
    response.end(lastChunk() + usageChunk(usage) + DONE)
  })
}

interface Row {
  readonly request_id: string
  readonly prompt_tokens: number
  readonly cost: string
  readonly outcome: string
}

async function readRows(database: TestDatabase): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select request_id, prompt_tokens, cost::text as cost, outcome from usage_events
  `.execute(database.open())
  return rows
}

/** Sums that must all be the same number of dollars. */
async function readSums(database: TestDatabase): Promise<Record<string, string>> {
  const { rows } = await sql<Record<string, string>>`
    select
      (select coalesce(sum(cost), 0)::text from usage_events) as events,
      (select coalesce(sum(cost), 0)::text from usage_hourly) as hourly,
      (select coalesce(sum(cost), 0)::text from usage_daily) as daily,
      (select coalesce(sum(used_amount), 0)::text from api_key_usage) as keys,
      (select sum(spent)::text from ledger_accounts) as spent,
      (select coalesce(sum(amount), 0)::text from ledger_entries where account_id = 'revenue') as revenue
  `.execute(database.open())
  return rows[0] as Record<string, string>
}

async function killRepeatedly(times: number, options: GatewayOptions, load: Load): Promise<void> {
  for (let kill = 0; kill < times; kill++) {
    const gateway = await Gateway.start(options)
    const before = load.answered.length
    load.gateway = gateway
    await eventually('an answer', () => (load.answered.length > before ? true : undefined))
    await sleep(Math.random() * LIFE_MS_MAX)
    load.gateway = undefined
    await gateway.kill()
  }
}

/** Checks every promise against the rows, with the upstream's own log as the witness. */
function assertExact(rows: readonly Row[], answered: readonly Answered[], asked: ReadonlySet<number>): void {
  const byId = new Map(rows.map(row => [row.request_id, row]))
  assert.equal(byId.size, rows.length, 'no request has two rows')
  for (const { requestId, number } of answered) {
    const row = byId.get(requestId)
    assert.ok(row, `answer ${requestId} has a row`)
    assert.equal(row.prompt_tokens, number)
    // 1 $/M input and 2 $/M output are 10⁶ and 2×10⁶ picodollars a token.
    const expected = formatUsd(BigInt(number) * 1_000_000n + BigInt(OUTPUT_TOKENS) * 2_000_000n)
    assert.equal(Number(row.cost), Number(expected))
  }
  for (const row of rows) {
    // A client that had gone by the time it was counted leaves an estimate, which carries no number.
    if (row.outcome === 'completed') assert.ok(asked.has(row.prompt_tokens), `row ${row.request_id} was asked for`)
  }
}

describe('killed with -9 under load', () => {
  it(`bills each whole answer exactly once over ${KILLS} kills`, { timeout: KILLS * 8_000 }, async t => {
    const asked = new Set<number>()
    const upstream = await numberedUpstream(asked)
    const database = await createTestDatabase()
    const dataFolder = await mkdtemp(path.join(tmpdir(), 'tollgate-kill-'))
    const options: GatewayOptions = { config: configFor(upstream.url, CREDIT), database, dataFolder }
    const load = new Load()
    const running = load.run()
    try {
      await killRepeatedly(KILLS, options, load)
      load.end()
      await running
      // One more life replays what the last kill left in the journal; draining ships everything.
      const last = await Gateway.start(options)
      assert.equal(await last.terminate(), 0)
      const rows = await readRows(database)
      assertExact(rows, load.answered, asked)
      const { events, ...others } = await readSums(database)
      for (const [where, sum] of Object.entries(others)) assert.equal(Number(sum), Number(events), where)
      t.diagnostic(`${load.answered.length} whole answers, ${rows.length} rows, ${asked.size} upstream requests`)
    } finally {
      load.end()
      await running
      await upstream.stop()
      await database.drop()
      await rm(dataFolder, { recursive: true, force: true })
    }
  })

  it('opens its embedded database by itself after each of several kills', { timeout: 120_000 }, async () => {
    const asked = new Set<number>()
    const upstream = await numberedUpstream(asked)
    const dataFolder = await mkdtemp(path.join(tmpdir(), 'tollgate-kill-'))
    const options: GatewayOptions = { config: configFor(upstream.url, CREDIT), database: 'embedded', dataFolder }
    const load = new Load()
    const running = load.run()
    try {
      await killRepeatedly(5, options, load)
      load.end()
      await running
      const last = await Gateway.start(options)
      // The first life wrote the credentials; every later one finds the same tenant.
      const report = await eventually('all answers in the report', async () => {
        const found = await last.usage()
        return found.pagination.total >= load.answered.length ? found : undefined
      })
      assert.ok(report.pagination.total <= asked.size)
      assert.equal(await last.terminate(), 0)
    } finally {
      load.end()
      await running
      await upstream.stop()
      await rm(dataFolder, { recursive: true, force: true })
    }
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { commandBeside, insertKey } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, chunk, completion, DONE, lastChunk, ScriptedUpstream, usageChunk } from '../support/upstream.ts'
import { usageRecord } from '../support/usage-record.ts'

/** Claude Sonnet 4.5 as the book has it, in dollars a million tokens: below and above 200,000 tokens of input. */
const BELOW = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
const ABOVE = { input: 6, output: 22.5, cacheRead: 0.6, cacheWrite: 7.5 }

function config(url: string, fastOutput = '0.4'): string {
  return `channels:
  - { id: main, provider: openai, base_url: "${url}/v1" }
models:
  - id: booked
    scene: chat
    context_length: 1000000
    max_output_tokens: 1000
    price: { book: anthropic/claude-sonnet-4-5 }
    offers: [{ channel: main }]
  - id: fast
    scene: chat
    price: { input: "0.1", output: "${fastOutput}", tiers: [{ above: 100, input: "0.2", output: "0.8" }] }
    offers: [{ channel: main }]
`
}

const question = { model: 'booked', messages: [{ role: 'user', content: 'Hi' }] }

let upstream: ScriptedUpstream
let gateway: Gateway
let database: Database

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: config(upstream.url) })
  database = gateway.database!.open()
})

after(async () => {
  await gateway.stop()
  await upstream.stop()
})

interface Row {
  readonly cost: string
  readonly version: string
}

/** What a request that used this became in the database. */
async function charged(usage: Record<string, unknown>, { stream = false, model = 'booked' } = {}): Promise<Row> {
  upstream.script = ({ body }, response) => {
    if (body.stream !== true) return void response.end(JSON.stringify(completion({ usage })))
    response.setHeader('content-type', 'text/event-stream')
    response.end(chunk({ content: 'Hello' }) + lastChunk() + usageChunk(usage) + DONE)
  }
  const response = await gateway.post('/v1/chat/completions', { ...question, model, stream })
  assert.equal(response.status, 200, await response.clone().text())
  await response.text()
  const id = response.headers.get('x-request-id')
  return eventually('the row', async () => {
    const { rows } = await sql<Row>`
      select trim_scale(cost)::text as cost, price_version as version from usage_events where request_id = ${id}
    `.execute(database)
    return rows[0]
  })
}

/** A million times the dollars is a whole number of hundredths here, so plain numbers are exact until the division. */
function dollars(hundredMillionths: number): string {
  return (hundredMillionths / 1e8).toFixed(8).replace(/\.?0+$/, '')
}

const hundredths = (rate: number) => Math.round(rate * 100)

describe('a model at the price of the book', () => {
  const usageOf = (prompt: number) => ({
    prompt_tokens: prompt,
    completion_tokens: 321,
    total_tokens: prompt + 321,
    prompt_tokens_details: { cached_tokens: 150_000, cache_write_tokens: 1_234 },
  })
  const costOf = (prompt: number, rates: typeof BELOW) =>
    dollars(
      (prompt - 151_234) * hundredths(rates.input) +
        150_000 * hundredths(rates.cacheRead) +
        1_234 * hundredths(rates.cacheWrite) +
        321 * hundredths(rates.output),
    )

  it('is charged to the last digit, with cached tokens at their rates', async () => {
    assert.equal((await charged(usageOf(199_999))).cost, costOf(199_999, BELOW))
    assert.equal((await charged(usageOf(200_000), { stream: true })).cost, costOf(200_000, BELOW))
  })

  it('is charged as a long request from the first token beyond the bound, streamed or not', async () => {
    assert.equal((await charged(usageOf(200_001))).cost, costOf(200_001, ABOVE))
    assert.equal((await charged(usageOf(200_001), { stream: true })).cost, costOf(200_001, ABOVE))
  })

  it('is told at the start', () => {
    const [line] = gateway.lines('prices.from_book')
    const [offer] = (line?.offers ?? []) as Record<string, unknown>[]
    assert.deepEqual([offer?.model, offer?.channel, offer?.entry], ['booked', 'main', 'anthropic/claude-sonnet-4-5'])
  })

  it('is shown with its tiers', async () => {
    const { pricing } = (await (await gateway.fetch('/v1/models/booked')).json()) as { pricing: unknown }
    assert.deepEqual(pricing, {
      currency: 'USD',
      per_tokens: 1_000_000,
      official: {
        input: '3',
        cache_read: '0.3',
        cache_write_5m: '3.75',
        cache_write_1h: '6',
        output: '15',
        tiers: [
          {
            above: 200_000,
            input: '6',
            cache_read: '0.6',
            cache_write_5m: '7.5',
            cache_write_1h: '12',
            output: '22.5',
          },
        ],
      },
    })
  })

  it('is held for at the tier that the request may turn out to be', async () => {
    const { credential } = await insertKey(gateway, { limitAmount: '0.60' })
    const asked = upstream.seen.length
    // 110,000 tokens by our count, which may be twice as many: 0.825 USD to write them to the cache at the upper tier.
    const content = 'word'.repeat(110_000)
    const refused = await gateway.post(
      '/v1/chat/completions',
      { ...question, messages: [{ role: 'user', content }] },
      { key: credential },
    )
    assert.equal(refused.status, 402)
    const { error } = (await refused.json()) as { error: { estimated_cost_usd: number } }
    assert.ok(error.estimated_cost_usd > 0.8, String(error.estimated_cost_usd))
    assert.equal(upstream.seen.length, asked)
    upstream.script = answerWhole()
    assert.equal((await gateway.post('/v1/chat/completions', question, { key: credential })).status, 200)
  })
})

describe('a price version', () => {
  it('leads from a usage row to the rates, also after the price has changed', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
    const first = await charged(usage, { model: 'fast' })
    assert.equal(first.cost, '0.000009')
    await gateway.writeConfig(config(upstream.url, '0.5'))
    await eventually('the reload', () => gateway.lines('config.reloaded')[0])
    const second = await charged(usage, { model: 'fast' })
    assert.equal(second.cost, '0.000011')
    assert.notEqual(first.version, second.version)
    const show = async (version: string) =>
      JSON.parse(await commandBeside(gateway, 'models', 'price', version, '--json')) as Record<string, unknown>
    const [old, current] = [await show(first.version), await show(second.version)]
    assert.deepEqual(old.rates, { input: '0.0000001', output: '0.0000004' })
    assert.deepEqual(current.rates, { input: '0.0000001', output: '0.0000005' })
    assert.deepEqual(old.tiers, [{ above: 100, rates: { input: '0.0000002', output: '0.0000008' } }])
  })

  it('says that it came from the book, and from which edition', async () => {
    const { version } = await charged({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })
    const text = await commandBeside(gateway, 'models', 'price', version)
    assert.match(text, /^pv_\w{16}, in force since .*, from anthropic\/claude-sonnet-4-5 in @pydantic\/genai-prices \d/)
    assert.match(text, /cache_write_1h +0\.000012 +200000\n/)
  })

  it('is never changed', async () => {
    await assert.rejects(sql`delete from price_versions`.execute(database), /append-only/)
  })

  it('that nobody had is refused', async () => {
    await assert.rejects(
      commandBeside(gateway, 'models', 'price', 'pv_0000000000000000'),
      /ended with 1: No configuration/,
    )
  })
})

describe('quantities that are no whole numbers', () => {
  it('are summed up exactly', async () => {
    const { rows } = await sql<{ organization_id: string; workspace_id: string }>`
      select w.organization_id, w.id as workspace_id
      from api_keys k join workspaces w on w.id = k.workspace_id where k.id = ${gateway.apiKeyId}
    `.execute(database)
    const records = ['3.27', '0.1', '0.2', '0.000000000001', '8.470000267029'].map(usage_quantity =>
      usageRecord({
        ...rows[0],
        api_key_id: gateway.apiKeyId,
        model: 'ears',
        scene: 'audio',
        usage_unit: 'per_second',
        usage_quantity,
      }),
    )
    await insertUsage(database, JSON.stringify(records), 'node_test')
    const { items, summary, breakdowns } = await gateway.usage('?model=ears')
    const quantities = items.map(({ usage_quantity_decimal: quantity }) => quantity)
    assert.deepEqual(quantities.toSorted(), ['0.000000000001', '0.1', '0.2', '3.27', '8.470000267029'])
    const whole = { usage_quantity: 12.04000026703, usage_quantity_decimal: '12.04000026703' }
    assert.deepEqual(summary.usage_unit_breakdown, [{ usage_unit: 'per_second', ...whole }])
    assert.equal(breakdowns.by_model?.[0]?.usage_quantity_decimal, whole.usage_quantity_decimal)
  })
})

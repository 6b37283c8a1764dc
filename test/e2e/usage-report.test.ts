import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { ensurePartitions } from '#metering/partitions.ts'
import { insertUsage } from '#metering/store.ts'
import type { UsageRecord } from '#metering/usage-record.ts'
import type { Database } from '#storage/database.ts'
import { Gateway, type UsageReport } from '../support/gateway.ts'
import { usageRecord } from '../support/usage-record.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
const FIRST_MS = TODAY_MS - 70 * DAY_MS

const MODELS = [
  { model: 'alpha-chat', logical_model: 'alpha-chat', model_vendor: 'acme', scene: 'chat', usage_unit: 'per_token' },
  {
    model: 'alpha-chat-0601',
    logical_model: 'alpha-chat',
    model_vendor: 'acme',
    scene: 'chat',
    usage_unit: 'per_token',
  },
  {
    model: 'beta-embed',
    logical_model: 'beta-embed',
    model_vendor: 'beta',
    scene: 'embedding',
    usage_unit: 'per_token',
  },
  { model: 'own-image', logical_model: 'own-image', model_vendor: '', scene: 'image', usage_unit: 'per_image' },
] as const

/** Requests over ten weeks, crowded at the edges of hours and days, with amounts that floats cannot add. */
const history = fc.record({
  what: fc.constantFrom(...MODELS),
  atMs: fc.oneof(
    fc.integer({ min: FIRST_MS, max: TODAY_MS }),
    fc
      .tuple(fc.integer({ min: 0, max: 70 * 24 }), fc.constantFrom(-1, 0, 1))
      .map(([hour, off]) => FIRST_MS + hour * HOUR_MS + off),
  ),
  access_channel: fc.constantFrom('platform', 'byok'),
  cost: fc.bigInt({ min: 0n, max: 3_000_000_000_000n }),
  prompt_tokens: fc.nat({ max: 5_000 }),
  completion_tokens: fc.option(fc.nat({ max: 5_000 }), { nil: undefined }),
})

/** What the report must say, reckoned from the records alone. */
interface Query {
  readonly page: number
  readonly limit: number
  readonly filters: Partial<Pick<UsageRecord, 'model' | 'model_vendor' | 'scene' | 'access_channel'>>
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

function toText(picodollars: bigint): string {
  const digits = picodollars.toString().padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, '')
}

function toPicodollars(text: string): bigint {
  const [integer = '', fraction = ''] = text.split('.')
  return BigInt(integer + fraction.padEnd(12, '0'))
}

function costOf(records: readonly UsageRecord[]): string {
  return toText(records.reduce((sum, { cost }) => sum + toPicodollars(cost), 0n))
}

function groupedBy(records: readonly UsageRecord[], key: (record: UsageRecord) => unknown): Map<string, UsageRecord[]> {
  return Map.groupBy(records, record => JSON.stringify(key(record)))
}

/** A breakdown's rows as a set of [key, requests, cost]: the order is another test's. */
function rowsOf(records: readonly UsageRecord[], key: (record: UsageRecord) => unknown): string[] {
  return [...groupedBy(records, key)].map(([name, group]) => `${name} ${group.length} ${costOf(group)}`).toSorted()
}

function reportedRows(rows: readonly Record<string, unknown>[] = [], key: (row: Record<string, unknown>) => unknown) {
  return rows.map(row => `${JSON.stringify(key(row))} ${row.requests} ${row.cost_decimal}`).toSorted()
}

describe('the usage report', () => {
  let gateway: Gateway
  let database: Database
  let records: UsageRecord[] = []

  before(async () => {
    gateway = await Gateway.start()
    assert.ok(gateway.database)
    database = gateway.database.open()
    const { rows } = await sql<{ organization_id: string; workspace_id: string }>`
      select w.organization_id, w.id as workspace_id
      from api_keys k join workspaces w on w.id = k.workspace_id where k.id = ${gateway.apiKeyId}
    `.execute(database)
    records = fc.sample(history, { numRuns: 800, seed: 20260101 }).map(({ what, atMs, cost, ...rest }) =>
      usageRecord({
        ...rows[0],
        ...what,
        ...rest,
        api_key_id: gateway.apiKeyId,
        created_at: new Date(atMs).toISOString(),
        cost: toText(cost),
        usage_quantity: rest.prompt_tokens,
        total_tokens: rest.prompt_tokens + (rest.completion_tokens ?? 0),
      }),
    )
    await ensurePartitions(database, new Date(FIRST_MS - DAY_MS), new Date())
    for (let i = 0; i < records.length; i += 100) {
      await insertUsage(database, JSON.stringify(records.slice(i, i + 100)), 'node_test')
    }
  })

  after(() => gateway.stop())

  function matching({ filters, fromMs = 0, toMs = Number.POSITIVE_INFINITY }: Query): UsageRecord[] {
    return records
      .filter(record => Object.entries(filters).every(([name, value]) => record[name as keyof UsageRecord] === value))
      .filter(({ created_at }) => Date.parse(created_at) >= fromMs && Date.parse(created_at) <= toMs)
  }

  function asParameters({ page, limit, filters, fromMs, toMs }: Query): string {
    const query = new URLSearchParams({ page: String(page), limit: String(limit) })
    const names = { model: 'model', model_vendor: 'modelVendor', scene: 'scene', access_channel: 'accessChannel' }
    for (const [name, value] of Object.entries(filters)) query.set(names[name as keyof typeof names], value)
    if (fromMs !== undefined) query.set('startDate', new Date(fromMs).toISOString())
    if (toMs !== undefined) query.set('endDate', new Date(toMs).toISOString())
    return `?${query}`
  }

  function assertExact(report: UsageReport, query: Query): void {
    const expected = matching(query)
    const cost = costOf(expected)
    assert.deepEqual(report.pagination, {
      page: query.page,
      limit: query.limit,
      total: expected.length,
      totalPages: Math.ceil(expected.length / query.limit),
    })
    const { summary, breakdowns } = report
    const sum = (field: 'prompt_tokens' | 'completion_tokens' | 'total_tokens') =>
      expected.reduce((total, record) => total + (record[field] ?? 0), 0)
    assert.equal(summary.total_requests, expected.length)
    assert.equal(summary.total_cost_decimal, cost)
    assert.equal(summary.total_cost, Number(cost))
    assert.equal(summary.total_prompt_tokens, sum('prompt_tokens'))
    assert.equal(summary.total_completion_tokens, sum('completion_tokens'))
    assert.equal(summary.total_tokens, sum('total_tokens'))
    const vendor = (record: { model_vendor?: unknown }) => record.model_vendor || null
    assert.deepEqual(
      reportedRows(breakdowns.by_model, row => [row.model, row.logical_model, row.model_vendor]),
      rowsOf(expected, record => [record.model, record.logical_model, vendor(record)]),
    )
    assert.deepEqual(
      reportedRows(breakdowns.by_logical_model, row => [row.logical_model, row.model_vendor]),
      rowsOf(expected, record => [record.logical_model, vendor(record)]),
    )
    assert.deepEqual(reportedRows(breakdowns.by_model_vendor, vendor), rowsOf(expected, vendor))
    assert.deepEqual(
      reportedRows(breakdowns.by_scene, row => row.scene),
      rowsOf(expected, record => record.scene),
    )
    assert.deepEqual(
      reportedRows(breakdowns.by_access_channel, row => row.access_channel),
      rowsOf(expected, record => record.access_channel),
    )
    assert.deepEqual(
      breakdowns.daily_cost?.map(row => `${row.date} ${row.cost_decimal}`),
      [...groupedBy(expected, record => record.created_at.slice(0, 10))]
        .map(([day, group]) => `${JSON.parse(day)}T00:00:00.000Z ${costOf(group)}`)
        .toSorted(),
    )
    const unit = (record: { usage_unit?: unknown }) => record.usage_unit
    assert.deepEqual(
      new Set((summary.usage_unit_breakdown as Record<string, unknown>[]).map(unit)),
      new Set(expected.map(unit)),
    )
    const offset = (query.page - 1) * query.limit
    assert.deepEqual(
      report.items.map(item => item.created_at),
      expected
        .map(record => record.created_at)
        .toSorted()
        .toReversed()
        .slice(offset, offset + query.limit),
    )
    const byId = new Map(expected.map(record => [record.request_id, record]))
    for (const item of report.items) {
      const record = byId.get(String(item.request_id))
      assert.ok(record, 'an item that was never recorded')
      assert.equal(item.cost_decimal, record.cost)
      assert.equal(item.prompt_tokens, record.prompt_tokens)
      assert.equal(item.completion_tokens, record.completion_tokens ?? 0)
    }
  }

  it('agrees with the records to the last digit, whatever is asked', async () => {
    const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    const edge = fc
      .tuple(fc.integer({ min: -2, max: 71 * 24 }), fc.constantFrom(-1, 0, 1, 1_234_567))
      .map(([hour, off]) => FIRST_MS + hour * HOUR_MS + off)
    const queries = fc.record({
      page: fc.integer({ min: 1, max: 9 }),
      limit: fc.constantFrom(1, 7, 50, 100),
      filters: fc.record(
        {
          model: fc.constantFrom('alpha-chat', 'beta-embed', 'unheard-of'),
          model_vendor: fc.constantFrom('acme', 'beta'),
          scene: fc.constantFrom('chat' as const, 'image' as const),
          access_channel: fc.constantFrom('platform' as const, 'byok' as const),
        },
        { requiredKeys: [] },
      ),
      span: fc.tuple(optional(edge), optional(edge)),
    })
    await fc.assert(
      fc.asyncProperty(queries, async ({ span: [a, b], ...rest }) => {
        const [fromMs, toMs] = a !== undefined && b !== undefined && a > b ? [b, a] : [a, b]
        const query = { ...rest, fromMs, toMs }
        assertExact(await gateway.usage(asParameters(query)), query)
      }),
      { numRuns: 120 },
    )
  })

  it('shows every request exactly once, however the pages are cut', async () => {
    for (const limit of [100, 33]) {
      const seen: string[] = []
      for (let page = 1; page <= Math.ceil(records.length / limit); page++) {
        const { items } = await gateway.usage(`?page=${page}&limit=${limit}`)
        seen.push(...items.map(item => String(item.request_id)))
      }
      assert.equal(seen.length, records.length)
      assert.deepEqual(new Set(seen), new Set(records.map(({ request_id }) => request_id)))
    }
    assert.deepEqual((await gateway.usage('?page=9999')).items, [])
  })

  it('is empty, not absent, for a time in which nothing was used', async () => {
    const query: Query = { page: 1, limit: 50, filters: {}, fromMs: 0, toMs: DAY_MS }
    const report = await gateway.usage(asParameters(query))
    assertExact(report, query)
    assert.equal(report.summary.total_cost_decimal, '0')
  })

  it('lists the dearest first in its breakdowns, and the days in their order', async () => {
    const { breakdowns } = await gateway.usage()
    for (const name of ['by_model', 'by_logical_model', 'by_model_vendor', 'by_scene', 'by_access_channel']) {
      const costs = (breakdowns[name] ?? []).map(row => toPicodollars(String(row.cost_decimal)))
      assert.deepEqual(
        costs,
        costs.toSorted((a, b) => (a < b ? 1 : -1)),
        name,
      )
    }
  })

  it('says nothing of providers: which channel served and at what tier is not public', async () => {
    const text = JSON.stringify(await gateway.usage('?limit=5'))
    for (const secret of ['channel_id', 'delivery_tier', 'price_version', '"main"']) {
      assert.ok(!text.includes(secret), secret)
    }
  })

  it('tells what the key itself has used', async () => {
    const { api_key } = await gateway.usage()
    assert.equal(api_key.id, gateway.apiKeyId)
    assert.equal(api_key.used_amount_decimal, costOf(records))
    assert.equal(api_key.limit_amount_decimal, null)
    assert.equal(api_key.status, 'active')
    assert.ok(gateway.apiKey.startsWith(String(api_key.key_prefix)))
    assert.ok(!JSON.stringify(api_key).includes(gateway.apiKey))
  })

  it('counts a record that is shipped twice once', async () => {
    const before = await gateway.usage()
    assert.equal((await insertUsage(database, JSON.stringify(records.slice(0, 50)), 'node_test')).rows, 0)
    assert.deepEqual(await gateway.usage(), before)
  })

  it('refuses what it cannot answer, and names the parameter', async () => {
    const refused = async (path: string, key: string | null = gateway.managementToken) => {
      const response = await gateway.fetch(`/v1/management/api-keys/${path}`, { key })
      return { status: response.status, error: ((await response.json()) as { error: Record<string, unknown> }).error }
    }
    const usage = `${gateway.apiKeyId}/usage`
    const retired = await refused(`${usage}?currency=CNY`)
    assert.deepEqual([retired.status, retired.error.code], [400, 'currency_retired'])
    const backwards = await refused(`${usage}?startDate=2026-02-01&endDate=2026-01-01`)
    assert.deepEqual([backwards.status, backwards.error.param], [400, 'startDate'])
    const unknown = await refused('key_unheard0f/usage')
    assert.equal(unknown.status, 404)
    assert.equal((await refused(usage, gateway.apiKey)).status, 401)
    assert.equal((await refused(usage, null)).status, 401)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { ensurePartitions } from '#metering/partitions.ts'
import { insertUsage } from '#metering/store.ts'
import type { UsageRecord } from '#metering/usage-record.ts'
import type { Database } from '#storage/database.ts'
import { commandBeside, createKey, insertKey } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { usageRecord } from '../support/usage-record.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
const FIRST_MS = TODAY_MS - 40 * DAY_MS

let gateway: Gateway
let database: Database
let records: UsageRecord[]

interface Place {
  readonly organization_id: string
  readonly workspace_id: string
}

before(async () => {
  gateway = await Gateway.start()
  assert.ok(gateway.database)
  database = gateway.database.open()
  records = await recordsOf(gateway.apiKeyId, { seed: 1, count: 500 })
  await insert(records)
  await commandBeside(gateway, 'orgs', 'create', 'other')
  const { id } = await createKey(gateway, '--org', 'other')
  await insert(await recordsOf(id, { seed: 2, count: 100 }))
})

after(() => gateway.stop())

async function placeOf(keyId: string): Promise<Place> {
  const { rows } = await sql<Place>`
    select w.organization_id, w.id as workspace_id from api_keys k join workspaces w on w.id = k.workspace_id
    where k.id = ${keyId}
  `.execute(database)
  assert.ok(rows[0])
  return rows[0]
}

async function recordsOf(keyId: string, { seed, count }: { seed: number; count: number }): Promise<UsageRecord[]> {
  const place = await placeOf(keyId)
  const arbitrary = fc.record({
    model: fc.constantFrom('alpha', 'beta', '=gamma, "the third"'),
    scene: fc.constantFrom('chat', 'embedding'),
    atMs: fc
      .tuple(fc.integer({ min: 0, max: 40 * 24 }), fc.constantFrom(-1, 0, 1, 1_234_567))
      .map(([hour, off]) => FIRST_MS + hour * HOUR_MS + off),
    cost: fc.bigInt({ min: 0n, max: 3_000_000_000_000n }),
    completion_tokens: fc.option(fc.nat({ max: 5_000 }), { nil: undefined }),
  })
  return fc.sample(arbitrary, { numRuns: count, seed }).map(({ atMs, cost, model, ...rest }) =>
    usageRecord({
      ...place,
      ...rest,
      model,
      logical_model: model,
      api_key_id: keyId,
      created_at: new Date(atMs).toISOString(),
      cost: toText(cost),
    }),
  )
}

async function insert(rows: readonly UsageRecord[]): Promise<void> {
  await ensurePartitions(database, new Date(FIRST_MS - DAY_MS), new Date())
  for (let i = 0; i < rows.length; i += 100)
    await insertUsage(database, JSON.stringify(rows.slice(i, i + 100)), 'node_test')
}

function toText(picodollars: bigint): string {
  const digits = picodollars.toString().padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, '')
}

function costOf(rows: readonly UsageRecord[]): string {
  const sum = rows.reduce((total, { cost }) => {
    const [integer = '', fraction = ''] = cost.split('.')
    return total + BigInt(integer + fraction.padEnd(12, '0'))
  }, 0n)
  return toText(sum)
}

const report = async (query: string) => (await manage(gateway, 'GET', `usage${query}`)).body

describe('the usage of an organization', () => {
  it('is that of its only key, whatever is asked, and nothing of another organization', async () => {
    const edge = fc
      .tuple(fc.integer({ min: -2, max: 41 * 24 }), fc.constantFrom(-1, 0, 1, 999_999))
      .map(([hour, off]) => FIRST_MS + hour * HOUR_MS + off)
    const queries = fc.record(
      {
        page: fc.integer({ min: 1, max: 6 }),
        limit: fc.constantFrom(1, 9, 100),
        model: fc.constantFrom('alpha', '=gamma, "the third"'),
        scene: fc.constantFrom('chat', 'embedding'),
        span: fc.tuple(edge, edge),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(queries, async ({ span, ...rest }) => {
        const query = new URLSearchParams(
          Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
        )
        if (span) {
          query.set('startDate', new Date(Math.min(...span)).toISOString())
          query.set('endDate', new Date(Math.max(...span)).toISOString())
        }
        const { api_key: _, ...ofKey } = await gateway.usage(`?${query}`)
        assert.deepEqual(await report(`?${query}`), ofKey)
      }),
      { numRuns: 60 },
    )
  })

  it('is the sum over all its keys, each request once', async () => {
    const { id } = await insertKey(gateway)
    const more = await recordsOf(id, { seed: 3, count: 300 })
    await insert(more)
    const all = [...records, ...more]
    const { summary, pagination, breakdowns } = await report('')
    assert.equal(summary.total_requests, all.length)
    assert.equal(summary.total_cost_decimal, costOf(all))
    assert.equal(pagination.total, all.length)
    assert.deepEqual(
      breakdowns.by_model.map((row: Record<string, unknown>) => [row.model, row.requests, row.cost_decimal]).toSorted(),
      [...Map.groupBy(all, ({ model }) => model)]
        .map(([model, group]) => [model, group.length, costOf(group)])
        .toSorted(),
    )
    const seen: string[] = []
    for (let page = 1; page <= 8; page++) {
      seen.push(...(await report(`?limit=100&page=${page}`)).items.map((item: UsageRecord) => item.request_id))
    }
    assert.deepEqual(seen.toSorted(), all.map(({ request_id }) => request_id).toSorted())
    records = all
  })

  it('refuses what the report of a key refuses', async () => {
    for (const [query, code, param] of [
      ['currency=CNY', 'currency_retired', 'currency'],
      ['limit=101', undefined, 'limit'],
      ['startDate=2026-02-01&endDate=2026-01-01', undefined, 'startDate'],
    ]) {
      for (const path of ['usage', 'usage/export']) {
        const { status, body } = await manage(gateway, 'GET', `${path}?${query}`)
        assert.deepEqual([status, body.error.code, body.error.param], [400, code, param], `${path}?${query}`)
      }
    }
  })
})

/** The cells of each row, read by the grammar of RFC 4180. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === '\r\n') rows.push([])
  }
  assert.deepEqual(rows.pop(), [], 'the last row ends like the others')
  return rows
}

async function exported(query = ''): Promise<Record<string, string>[]> {
  const response = await gateway.fetch(`/v1/management/usage/export${query}`, { key: gateway.managementToken })
  assert.equal(response.status, 200)
  assert.match(String(response.headers.get('content-type')), /^text\/csv; charset=utf-8/)
  assert.match(String(response.headers.get('content-disposition')), /attachment; filename="usage\.csv"/)
  const [header = [], ...rows] = readCsv(await response.text())
  return rows.map(cells => {
    assert.equal(cells.length, header.length)
    return Object.fromEntries(header.map((name, i) => [name, cells[i] ?? '']))
  })
}

describe('the export of usage', () => {
  it('has every request with its exact cost, newest first', async () => {
    const rows = await exported()
    const times = rows.map(row => row.created_at)
    assert.deepEqual(times, times.toSorted().toReversed())
    const described = (row: Record<string, unknown>) =>
      [row.request_id, row.created_at, row.cost, row.tokens, row.model].join(' ')
    assert.deepEqual(
      rows.map(row => described({ ...row, cost: row.cost_decimal, tokens: row.completion_tokens })).toSorted(),
      records
        .map(record =>
          described({
            ...record,
            tokens: record.completion_tokens ?? 0,
            // A spreadsheet would run it.
            model: record.model.startsWith('=') ? `'${record.model}` : record.model,
          }),
        )
        .toSorted(),
    )
  })

  it('keeps to the filters of the report', async () => {
    const query = `?model=alpha&scene=chat&startDate=${new Date(FIRST_MS + 5 * DAY_MS).toISOString()}`
    const rows = await exported(query)
    assert.equal(rows.length, (await report(query)).summary.total_requests)
    assert.ok(rows.length > 0 && rows.every(({ model, scene }) => model === 'alpha' && scene === 'chat'))
    assert.deepEqual(await exported('?model=unheard-of'), [])
  })

  it('has requests of the same moment once each, however many there are', async () => {
    const place = await placeOf(gateway.apiKeyId)
    const created_at = new Date(TODAY_MS).toISOString()
    const crowd = Array.from({ length: 2_500 }, () =>
      usageRecord({ ...place, api_key_id: gateway.apiKeyId, created_at, model: 'crowd' }),
    )
    await insert(crowd)
    const rows = await exported('?model=crowd')
    assert.deepEqual(
      rows.map(({ request_id }) => request_id).toSorted(),
      crowd.map(({ request_id }) => request_id).toSorted(),
    )
  })

  it('is given up when its reader leaves', async () => {
    const count = 100_000
    await sql`
      insert into usage_events (
        created_at, request_id, billing_transaction_id, organization_id, workspace_id, api_key_id, model, logical_model,
        model_vendor, scene, access_channel, channel_id, delivery_tier, usage_unit, usage_quantity, cost, price_version,
        is_estimated, outcome)
      select ${new Date(TODAY_MS)}::timestamptz + i * interval '1 millisecond', 'req_many' || i, 'btx_many',
             e.organization_id, e.workspace_id, e.api_key_id, 'many', 'many', '', 'chat', 'platform', 'main', 'official',
             'per_token', 1, 0, 'test', false, 'completed'
      from generate_series(1, ${count}::int) as i,
           (select organization_id, workspace_id, api_key_id from usage_events where api_key_id = ${gateway.apiKeyId} limit 1) as e
    `.execute(database)
    const leaving = new AbortController()
    const response = await gateway.fetch('/v1/management/usage/export?model=many', {
      key: gateway.managementToken,
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    await reader?.read()
    leaving.abort()
    const line = await eventually('the end of the export', () =>
      gateway
        .lines('request.completed')
        .find(each => each.route === '/v1/management/usage/export' && each.is_client_gone),
    )
    assert.ok(Number(line.body_bytes) < (count * 150) / 2, `${line.body_bytes} bytes were written`)
    assert.equal((await manage(gateway, 'GET', 'balance')).status, 200)
  })
})

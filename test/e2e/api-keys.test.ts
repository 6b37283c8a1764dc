import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { createToken, secretOf } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'
import { usageRecord } from '../support/usage-record.ts'

const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

let upstream: ScriptedUpstream
/** Two processes over one database. */
let gateway: Gateway
let neighbour: Gateway
let database: Database

before(async () => {
  upstream = await ScriptedUpstream.start(answerWhole())
  const config = configFor(upstream.url)
  gateway = await Gateway.start({ config })
  assert.ok(gateway.database)
  database = gateway.database.open()
  const environment = { TOLLGATE_SECRET: await secretOf(gateway) }
  neighbour = await Gateway.start({ config, environment, database: gateway.database })
})

after(async () => {
  await neighbour.stop()
  await gateway.stop()
  await upstream.stop()
})

const create = (body: unknown = {}) => manage(gateway, 'POST', 'api-keys', { body })
const change = (id: string, body: unknown) => manage(gateway, 'PATCH', `api-keys/${id}`, { body })
const read = (id: string) => manage(gateway, 'GET', `api-keys/${id}`)

async function rowOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await sql<Record<string, unknown>>`select * from api_keys where id = ${id}`.execute(database)
  assert.ok(rows[0])
  return rows[0]
}

/** What a node answers to inference with a key: its status, and the code of its refusal. */
async function inference(at: Gateway, key: string): Promise<string> {
  const response = await at.post('/v1/chat/completions', CHAT, { key })
  const { error } = (await response.json()) as { error?: { code: string } }
  return `${response.status} ${error?.code ?? ''}`.trim()
}

/** Both nodes come to answer this within the second that the product promises. */
async function becomes(key: string, expected: string): Promise<void> {
  for (const at of [gateway, neighbour]) {
    await eventually(
      expected,
      async () => {
        const seen = await inference(at, key)
        if (seen !== expected) throw new Error(`still ${seen}`)
        return true
      },
      1_000,
    )
  }
}

describe('creating a key', () => {
  it('shows it in full once, and its summary from then on', async () => {
    const { status, body } = await create({
      name: 'backend',
      limit_amount: '25.50',
      models: ['test-chat'],
      expires_at: '2099-01-31T12:00:00+02:00',
      delivery_policy: 'verified',
      requests_per_minute: 120,
    })
    assert.equal(status, 201)
    const { key, ...summary } = body
    assert.match(key, /^sk-[0-9A-Za-z]{49}$/)
    const { id, created_at, ...rest } = summary
    assert.deepEqual(rest, {
      name: 'backend',
      key_prefix: key.slice(0, 11),
      status: 'active',
      limit_amount: 25.5,
      limit_amount_decimal: '25.5',
      used_amount: 0,
      used_amount_decimal: '0',
      models: ['test-chat'],
      expires_at: '2099-01-31T10:00:00.000Z',
      last_used_at: null,
      delivery_policy: 'verified',
      requests_per_minute: 120,
    })
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
    assert.deepEqual((await read(id)).body, summary)
    assert.equal(await inference(gateway, key), '200')
    const row = await rowOf(id)
    assert.equal(row.limit_amount, '25.500000000000')
    assert.equal(row.requests_per_minute, 120)
    assert.ok(!JSON.stringify(row).includes(key))
  })

  it('needs no body: the key may then use everything for ever', async () => {
    for (const body of [undefined, '', {}, { models: [], limit_amount: null, expires_at: null }]) {
      const answer = await create(body)
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      const { name, models, limit_amount, limit_amount_decimal, expires_at } = answer.body
      assert.deepEqual(
        { name, models, limit_amount, limit_amount_decimal, expires_at },
        { name: 'Default Key', models: [], limit_amount: null, limit_amount_decimal: null, expires_at: null },
      )
    }
  })

  it('takes an amount digit by digit, as a text or as a number', async () => {
    const cases: [json: string, exact: string][] = [
      ['"0.1"', '0.1'],
      ['0.1', '0.1'],
      ['0', '0'],
      ['12345678901234567890.123456789012', '12345678901234567890.123456789012'],
      ['"0.000000000001"', '0.000000000001'],
      ['1e-12', '0.000000000001'],
      ['1.5E+3', '1500'],
      ['0.3000000000000', '0.3'],
    ]
    for (const [json, exact] of cases) {
      const { status, body } = await create(`{"limit_amount":${json}}`)
      assert.equal(status, 201, json)
      assert.equal(body.limit_amount_decimal, exact)
      assert.equal(body.limit_amount, Number(exact))
      const { rows } = await sql<{ same: boolean }>`
        select limit_amount = ${exact}::numeric as same from api_keys where id = ${body.id}
      `.execute(database)
      assert.equal(rows[0]?.same, true)
    }
  })

  it('also takes the names that clients of other gateways send', async () => {
    const { status, body } = await create({ limitAmount: 3, limitCurrency: 'USD', expiresAt: '2099-01-01T00:00:00Z' })
    assert.equal(status, 201)
    assert.deepEqual([body.limit_amount_decimal, body.expires_at], ['3', '2099-01-01T00:00:00.000Z'])
  })

  it('refuses what it does not understand, and names the field', async () => {
    const cases: [body: unknown, param: string | undefined, message: RegExp][] = [
      [{ name: '' }, 'name', /must not be empty/],
      [{ name: '   ' }, 'name', /must not be empty/],
      [{ name: 'a\u0000b' }, 'name', /control characters/],
      [{ name: 'x'.repeat(51) }, 'name', /at most 50 characters/],
      [{ limit_amount: '-1' }, 'limit_amount', /must not be negative/],
      [{ limit_amount: -0.5 }, 'limit_amount', /must not be negative/],
      [{ limit_amount: '0.0000000000001' }, 'limit_amount', /more than 12 digits after the point/],
      ['{"limit_amount":1e-13}', 'limit_amount', /more than 12 digits after the point/],
      [{ limit_amount: 'ten' }, 'limit_amount', /amount in US dollars/],
      ['{"limit_amount":1e300}', 'limit_amount', /too large/],
      [{ limit_amount: true }, 'limit_amount', /must be/],
      [{ models: 'test-chat' }, 'models', /must be an array/],
      [{ models: ['a', 5] }, 'models[1]', /must be a string/],
      [{ expires_at: '2099-01-01' }, 'expires_at', /RFC 3339/],
      [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', /has passed already/],
      [{ expires_at: 4_000_000_000 }, 'expires_at', /must be a string/],
      [{ delivery_policy: 'cheap' }, 'delivery_policy', /"auto", "verified" or "official"/],
      [{ requests_per_minute: 0 }, 'requests_per_minute', /must be >= 1/],
      [{ requests_per_minute: 1.5 }, 'requests_per_minute', /integer/],
      [{ status: 'inactive' }, 'status', /is not a known field/],
      [{ limit: 5 }, 'limit', /is not a known field/],
      ['{"__proto__":{"limit_amount":"5"}}', '__proto__', /is not a known field/],
      ['{"name":"a","limit_amount":1,"limitAmount":2}', 'limit_amount', /given twice/],
      ['{"name":', undefined, /not valid JSON/],
      ['[]', undefined, /must be a JSON object/],
    ]
    for (const [body, param, message] of cases) {
      const answer = await create(body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      const { error } = answer.body
      assert.deepEqual([error.type, error.param], ['invalid_request_error', param], JSON.stringify(answer.body))
      assert.match(error.message, message)
    }
    const foreign = await create({ limit_currency: 'CNY' })
    assert.deepEqual([foreign.status, foreign.body.error.code], [400, 'currency_retired'])
  })

  it('names every field at fault where there are several', async () => {
    const { status, body } = await create({
      name: 5,
      limit_amount: '-1',
      models: [''],
      expires_at: 'soon',
      colour: 'red',
    })
    assert.equal(status, 400)
    const fields = body.validation_errors.map(({ field }: { field: string }) => field).toSorted()
    assert.deepEqual(fields, ['colour', 'expires_at', 'limit_amount', 'models[0]', 'name'])
    for (const { message } of body.validation_errors) assert.ok(message.length > 0)
    assert.ok(fields.includes(body.error.param))
  })
})

describe('the list of keys', () => {
  it('goes from the newest to the oldest, a page at a time, each key once', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await create({ name: `listed ${i}` })).body.id)
    const seen: string[] = []
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const { status, body } = await manage(gateway, 'GET', `api-keys?limit=2${after ? `&after=${after}` : ''}`)
      assert.equal(status, 200)
      assert.equal(body.object, 'list')
      assert.ok(body.data.length <= 2)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
      assert.equal(body.data.length, 2)
    }
    assert.deepEqual(seen.slice(0, 5), made.toReversed())
    const { rows } = await sql<{ id: string }>`select id from api_keys`.execute(database)
    assert.deepEqual(seen.toSorted(), rows.map(({ id }) => id).toSorted())
  })

  it('has fifty a page unless told otherwise, and refuses other limits and unknown places', async () => {
    const { body } = await manage(gateway, 'GET', 'api-keys')
    assert.ok(body.data.length <= 50)
    assert.ok(body.data.every((each: Record<string, unknown>) => !('key' in each)))
    for (const limit of ['0', '101', 'ten', '-1', '']) {
      const answer = await manage(gateway, 'GET', `api-keys?limit=${limit}`)
      assert.deepEqual([answer.status, answer.body.error.param], [400, 'limit'], limit)
    }
    for (const after of ['key_000000000000000000000000', 'x', '%00', '']) {
      const answer = await manage(gateway, 'GET', `api-keys?after=${after}`)
      assert.deepEqual([answer.status, answer.body.error.param], [400, 'after'], after)
    }
  })
})

describe('changing a key', () => {
  it('changes what is sent, keeps what is absent, clears what is null', async () => {
    const settings = { name: 'before', limit_amount: '5', models: ['a'], expires_at: '2099-01-01T00:00:00Z' }
    const { body: made } = await create(settings)
    const renamed = await change(made.id, { name: 'after', requests_per_minute: 7, delivery_policy: 'official' })
    assert.equal(renamed.status, 200)
    const { key: _, ...summary } = made
    const expected = { ...summary, name: 'after', requests_per_minute: 7, delivery_policy: 'official' }
    assert.deepEqual(renamed.body, expected)
    const cleared = await change(made.id, {
      limit_amount: null,
      models: null,
      expires_at: null,
      requests_per_minute: null,
      delivery_policy: null,
    })
    assert.deepEqual(cleared.body, {
      ...expected,
      limit_amount: null,
      limit_amount_decimal: null,
      models: [],
      expires_at: null,
      requests_per_minute: null,
      delivery_policy: null,
    })
    assert.deepEqual((await change(made.id, {})).body, cleared.body)
    const row = await rowOf(made.id)
    assert.deepEqual([row.name, row.limit_amount, row.models, row.expires_at], ['after', null, null, null])
  })

  it('takes effect on every node within a second', async () => {
    const { body } = await create()
    await becomes(body.key, '200')
    await change(body.id, { models: ['test-embedding'] })
    await becomes(body.key, '403 model_not_allowed')
    await change(body.id, { models: null, expires_at: '2020-01-01T00:00:00Z' })
    await becomes(body.key, '401 expired_api_key')
    assert.equal((await read(body.id)).body.status, 'expired')
    await change(body.id, { expires_at: null })
    await becomes(body.key, '200')
  })

  it('switches it off and on again', async () => {
    const { body } = await create()
    await becomes(body.key, '200')
    assert.equal((await change(body.id, { status: 'inactive' })).body.status, 'inactive')
    await becomes(body.key, '401 expired_api_key')
    assert.equal((await change(body.id, { status: 'active' })).body.status, 'active')
    await becomes(body.key, '200')
  })

  it('cannot revoke it, nor say what is derived', async () => {
    const { body } = await create()
    for (const status of ['revoked', 'expired', 'limit_reached', null]) {
      const answer = await change(body.id, { status })
      assert.deepEqual([answer.status, answer.body.error.param], [400, 'status'])
    }
  })

  it('leaves a key as it was when one field is wrong', async () => {
    const { body } = await create({ name: 'whole' })
    assert.equal((await change(body.id, { name: 'half', limit_amount: '-1' })).status, 400)
    assert.equal((await rowOf(body.id)).name, 'whole')
  })
})

describe('what a key has used', () => {
  it('is shown exactly, and shows when its limit is reached', async () => {
    const { body: made } = await create({ limit_amount: '0.30' })
    const { rows } = await sql<{ organization_id: string; workspace_id: string }>`
      select w.organization_id, w.id as workspace_id from api_keys k join workspaces w on w.id = k.workspace_id
      where k.id = ${made.id}
    `.execute(database)
    const spend = (cost: string, created_at: string) =>
      insertUsage(
        database,
        JSON.stringify([usageRecord({ ...rows[0], api_key_id: made.id, cost, created_at })]),
        'node_test',
      )
    const firstAt = new Date(Date.now() - 2_000).toISOString()
    await spend('0.1', firstAt)
    const { body: some } = await read(made.id)
    assert.deepEqual(
      [some.status, some.used_amount, some.used_amount_decimal, some.last_used_at],
      ['active', 0.1, '0.1', firstAt],
    )
    await spend('0.2', new Date().toISOString())
    const { body: all } = await read(made.id)
    assert.deepEqual([all.status, all.used_amount_decimal], ['limit_reached', '0.3'])
    assert.equal((await change(made.id, { limit_amount: '0.300000000001' })).body.status, 'active')
  })
})

describe('rotating a key', () => {
  it('gives it another secret and stops the old one on every node', async () => {
    const { body: made } = await create({ name: 'rotated' })
    await becomes(made.key, '200')
    const { status, body: rotated } = await manage(gateway, 'POST', `api-keys/${made.id}/rotate`)
    assert.equal(status, 200)
    assert.match(rotated.key, /^sk-[0-9A-Za-z]{49}$/)
    assert.notEqual(rotated.key, made.key)
    assert.equal(rotated.key_prefix, rotated.key.slice(0, 11))
    await becomes(made.key, '401 invalid_api_key')
    await becomes(rotated.key, '200')
    const { name, key_prefix } = (await read(made.id)).body
    assert.deepEqual([name, key_prefix], ['rotated', rotated.key_prefix])
    assert.equal((await manage(gateway, 'POST', `api-keys/${made.id}/rotate`, { body: {} })).status, 200)
    const odd = await manage(gateway, 'POST', `api-keys/${made.id}/rotate`, { body: { name: 'x' } })
    assert.deepEqual([odd.status, odd.body.error.param], [400, 'name'])
  })
})

describe('revoking a key', () => {
  it('stops it on every node within a second, for good, and may be repeated', async () => {
    const { body: made } = await create({ name: 'doomed' })
    await becomes(made.key, '200')
    for (let repeat = 0; repeat < 2; repeat++) {
      const { status, body } = await manage(gateway, 'DELETE', `api-keys/${made.id}`)
      assert.equal(status, 200)
      assert.deepEqual(body, { id: made.id, object: 'api_key', deleted: true })
    }
    await becomes(made.key, '401 expired_api_key')
    assert.equal((await read(made.id)).body.status, 'revoked')
    const { revoked_at } = await rowOf(made.id)
    assert.ok(revoked_at instanceof Date)
    for (const answer of [
      await change(made.id, { status: 'active' }),
      await change(made.id, { name: 'again' }),
      await manage(gateway, 'POST', `api-keys/${made.id}/rotate`),
    ]) {
      assert.equal(answer.status, 400)
      assert.match(answer.body.error.message, /has been revoked/)
    }
    assert.equal((await manage(gateway, 'GET', `api-keys/${made.id}/usage`)).status, 200)
  })

  it('is 404 for a key that never was', async () => {
    for (const id of ['key_000000000000000000000000', 'nonsense', '%00', 'key_%27%3B--']) {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate'],
      ] as const) {
        const answer = await manage(gateway, method, `api-keys/${id}${path}`, method === 'PATCH' ? { body: {} } : {})
        assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], `${method} ${id}${path}`)
      }
    }
  })
})

describe('the keys of another workspace', () => {
  it('are not listed, not even to a workspace of the same organization', async () => {
    const { id: tokenId, credential } = await createToken(gateway)
    await sql`
      with second as (
        insert into workspaces (id, organization_id, name)
        select 'ws_second', organization_id, 'second' from workspaces w join management_tokens t on t.workspace_id = w.id
        where t.id = ${tokenId}
      )
      select 1
    `.execute(database)
    await sql`update management_tokens set workspace_id = 'ws_second' where id = ${tokenId}`.execute(database)
    const { status, body } = await manage(gateway, 'GET', 'api-keys', { key: credential })
    assert.deepEqual([status, body.data, body.has_more], [200, [], false])
    assert.equal((await manage(gateway, 'GET', `api-keys/${gateway.apiKeyId}`, { key: credential })).status, 404)
    const after = await manage(gateway, 'GET', `api-keys?after=${gateway.apiKeyId}`, { key: credential })
    assert.equal(after.status, 400)
  })
})

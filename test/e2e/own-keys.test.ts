import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import OpenAI from 'openai'
import type { Database } from '#storage/database.ts'
import { secretOf } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway, type UsageReport } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { bringKey, createTenant, dump, type TestTenant } from '../support/provider-keys.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'

const CHAT = { model: 'test-chat', messages: [{ role: 'user' as const, content: 'Hi' }] }
const PLATFORM_KEY = 'sk-upstream-secret'
/** 10 tokens in and 5 out at 1 and 2 USD a million come to 0.00002: a twentieth of that, and what a request costs. */
const FEE = '0.000101'
const PLATFORM_COST = '0.00002'
const WITHIN_MS = 1_000

let upstream: ScriptedUpstream
/** Two processes over one database. */
let gateway: Gateway
let neighbour: Gateway
let database: Database
let secret: string
/** Keys that the upstream does not take, and the status by which it says so. */
const refused = new Map<string, number>()

before(async () => {
  const answer = answerWhole()
  upstream = await ScriptedUpstream.start((request, response, socket) => {
    const status = refused.get(presented(request.headers))
    if (status === undefined) return answer(request, response, socket)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'Incorrect API key', code: 'invalid_api_key' } }))
  })
  const config = configFor(
    upstream.url,
    `
  - id: other-chat
    scene: chat
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: elsewhere }]
byok: { fee: { percent: "5", per_request: "0.0001" } }
show_routing: true
`,
  ).replace(
    'models:',
    `  - { id: elsewhere, provider: openai, base_url: "${upstream.url}/elsewhere", api_key: ${PLATFORM_KEY} }\nmodels:`,
  )
  const environment = { TOLLGATE_TRUSTED_NETWORKS: '127.0.0.0/8' }
  gateway = await Gateway.start({ config, environment })
  assert.ok(gateway.database)
  database = gateway.database.open()
  secret = await secretOf(gateway)
  neighbour = await Gateway.start({
    config,
    environment: { ...environment, TOLLGATE_SECRET: secret },
    database: gateway.database,
  })
})

after(async () => {
  await neighbour.stop()
  await gateway.stop()
  await upstream.stop()
})

function presented(headers: Record<string, unknown>): string {
  return String(headers.authorization).replace('Bearer ', '')
}

interface Asked {
  readonly status: number
  /** What the upstream was shown, attempt by attempt. */
  readonly keys: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: what it holds is what tests assert
  readonly body: any
}

async function ask(
  at: Gateway,
  { credential: key }: Pick<TestTenant, 'credential'>,
  { body = CHAT, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
): Promise<Asked> {
  const before = upstream.seen.length
  const response = await at.post('/v1/chat/completions', body, { key, headers })
  const answer = await response.json()
  const keys = upstream.seen.slice(before).map(seen => presented(seen.headers))
  return { status: response.status, keys, body: answer }
}

/** Both nodes come to present this key within the second that the product promises. */
async function presents(tenant: TestTenant, key: string): Promise<void> {
  for (const at of [gateway, neighbour]) {
    await eventually(
      `${tenant.organizationId} is served with ${key}`,
      async () => ((await ask(at, tenant)).keys.at(-1) === key ? true : undefined),
      WITHIN_MS,
    )
  }
}

const newTenant = (credit = '1') => createTenant(database, { credit, secret })
const ownKey = (key: string, fields: object = {}) => ({
  provider: 'openai',
  key,
  base_url: `${upstream.url}/v1`,
  ...fields,
})

async function usageOf({ keyId, token }: TestTenant, query = ''): Promise<UsageReport> {
  const { status, body } = await manage(gateway, 'GET', `api-keys/${keyId}/usage${query}`, { key: token })
  assert.equal(status, 200)
  return body
}

/** Reports are behind by the moment that shipping takes. */
async function reported(tenant: TestTenant, requests: number, query = ''): Promise<UsageReport> {
  return eventually(`${requests} requests are reported`, async () => {
    const report = await usageOf(tenant, query)
    return report.summary.total_requests === requests ? report : undefined
  })
}

describe('a request of a workspace with a provider key of its own', () => {
  it('presents that key and no other, whoever asks on the same upstream', async () => {
    const [amber, birch, none] = [await newTenant(), await newTenant(), await newTenant()]
    await bringKey(gateway, amber.token, ownKey('sk-amber-canary-secret'))
    await bringKey(gateway, birch.token, ownKey('sk-birch-canary-secret'))
    const before = upstream.seen.length
    const expected: [TestTenant, string][] = [
      [amber, 'sk-amber-canary-secret'],
      [birch, 'sk-birch-canary-secret'],
      [none, PLATFORM_KEY],
    ]
    for (const [tenant, key] of expected) await presents(tenant, key)
    // All at once, and each request says in its text whose it is.
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        const [{ credential: key }, content] = expected[i % 3] as [TestTenant, string]
        const body = { ...CHAT, messages: [{ role: 'user', content }] }
        return (i % 2 ? gateway : neighbour).post('/v1/chat/completions', body, { key })
      }),
    )
    const told = upstream.seen.slice(before).filter(({ text }) => /canary-secret|upstream-secret/.test(text))
    assert.equal(told.length, 60)
    for (const { headers, text } of told) assert.ok(text.includes(`"${presented(headers)}"`))
  })

  it('says so to the client, and in the usage report', async () => {
    const tenant = await newTenant()
    const id = await bringKey(gateway, tenant.token, ownKey('sk-reported', { name: 'Ours' }))
    await presents(tenant, 'sk-reported')
    const { body } = await ask(gateway, tenant)
    assert.deepEqual(body._routing.channel, { id, name: 'Ours', provider: 'openai', channelType: 'PRIVATE' })
    const platform = await ask(gateway, tenant, { headers: { 'x-access-channel': 'platform' } })
    assert.deepEqual([platform.keys, platform.body._routing.channel.channelType], [[PLATFORM_KEY], 'PLATFORM'])
    const own = await eventually('both are reported', async () => {
      const report = await usageOf(tenant, '?accessChannel=byok')
      const { summary } = await usageOf(tenant, '?accessChannel=platform')
      return summary.total_requests === 1 && report.summary.total_requests >= 3 ? report : undefined
    })
    for (const item of own.items) assert.deepEqual([item.access_channel, item.cost_decimal], ['byok', FEE])
    const requests = own.summary.total_requests
    assert.equal(own.summary.total_cost_decimal, `0.000${101 * requests}`)
    const all = await usageOf(tenant)
    const sums = (all.breakdowns.by_access_channel ?? []).map(row => [row.access_channel, row.requests])
    assert.deepEqual(sums.toSorted(), [
      ['byok', requests],
      ['platform', 1],
    ])
  })

  it('needs no credit beyond the fee, and is refused when there is none for that', async () => {
    const [rich, poor] = [await newTenant('0.001'), await newTenant('0.000000001')]
    for (const { token } of [rich, poor]) await bringKey(gateway, token, ownKey('sk-fee'))
    // At the platform's price 1,000 tokens of output would be held, 0.002 USD.
    const capped = { body: { ...CHAT, max_tokens: 1_000 } }
    assert.equal((await ask(gateway, rich, capped)).status, 200)
    const refusal = await ask(gateway, poor, capped)
    assert.deepEqual([refusal.status, refusal.body.error.code, refusal.keys], [402, 'insufficient_balance', []])
    const platform = await ask(gateway, rich, { ...capped, headers: { 'x-access-channel': 'platform' } })
    assert.equal(platform.status, 402)
  })

  it('goes to the platform for models that the key does not serve', async () => {
    const tenant = await newTenant()
    await bringKey(gateway, tenant.token, ownKey('sk-same-address'))
    await presents(tenant, 'sk-same-address')
    const other = { body: { ...CHAT, model: 'other-chat' } }
    assert.deepEqual((await ask(gateway, tenant, other)).keys, [PLATFORM_KEY])
    const demanding = await ask(gateway, tenant, { ...other, headers: { 'x-access-channel': 'byok' } })
    assert.deepEqual([demanding.status, demanding.keys], [400, []])
    assert.match(demanding.body.error.message, /No provider key of this workspace serves/)
    const odd = await ask(gateway, tenant, { headers: { 'x-access-channel': 'mine' } })
    assert.deepEqual([odd.status, odd.body.error.param], [400, 'x-access-channel'])
  })

  it('calls models what the key’s owner says that the provider calls them', async () => {
    const tenant = await newTenant()
    await bringKey(
      gateway,
      tenant.token,
      ownKey('sk-named', { models: ['other-chat', 'test-chat'], upstream_models: { 'other-chat': 'their-name' } }),
    )
    await presents(tenant, 'sk-named')
    const { body } = await ask(gateway, tenant, { body: { ...CHAT, model: 'other-chat' } })
    assert.equal(upstream.seen.at(-1)?.body.model, 'their-name')
    assert.equal(body.model, 'other-chat')
    await ask(gateway, tenant)
    assert.equal(upstream.seen.at(-1)?.body.model, 'upstream-model')
  })

  it('works with the official SDK, streaming and not', async () => {
    const tenant = await newTenant()
    await bringKey(gateway, tenant.token, ownKey('sk-sdk'))
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: tenant.credential, maxRetries: 0 })
    const before = upstream.seen.length
    const answer = await client.chat.completions.create(CHAT)
    assert.equal(answer.choices[0]?.message.content, 'Hello')
    const words: string[] = []
    for await (const chunk of await client.chat.completions.create({ ...CHAT, stream: true })) {
      words.push(chunk.choices[0]?.delta.content ?? '')
    }
    assert.equal(words.join(''), 'Hello')
    assert.deepEqual(
      upstream.seen.slice(before).map(seen => presented(seen.headers)),
      ['sk-sdk', 'sk-sdk'],
    )
    const metrics = await (await gateway.fetch('/metrics', { key: null })).text()
    assert.match(metrics, /tollgate_cost_usd_total\{model="test-chat",channel="byok"\}/)
    assert.ok(!metrics.includes('pkey_'), 'customers would be without number among the metrics')
    const report = await reported(tenant, 2, '?accessChannel=byok')
    assert.equal(report.summary.total_cost_decimal, '0.000202')
  })

  it('tries keys in the order of their priority', async () => {
    const tenant = await newTenant()
    await bringKey(gateway, tenant.token, ownKey('sk-second', { priority: 2 }))
    await presents(tenant, 'sk-second')
    await bringKey(gateway, tenant.token, ownKey('sk-first', { priority: 1 }))
    await presents(tenant, 'sk-first')
  })
})

describe('a provider key that changes', () => {
  it('is used as it is now on every node within a second', async () => {
    const tenant = await newTenant()
    const id = await bringKey(gateway, tenant.token, ownKey('sk-before'))
    const options = { key: tenant.token }
    await presents(tenant, 'sk-before')
    const rotated = { ...options, body: { key: 'sk-after' } }
    assert.equal((await manage(gateway, 'POST', `provider-keys/${id}/rotate`, rotated)).status, 200)
    await presents(tenant, 'sk-after')
    const change = (body: object) => manage(gateway, 'PATCH', `provider-keys/${id}`, { ...options, body })
    assert.equal((await change({ status: 'inactive' })).body.status, 'inactive')
    await presents(tenant, PLATFORM_KEY)
    assert.equal((await change({ status: 'active' })).body.status, 'active')
    await presents(tenant, 'sk-after')
    assert.deepEqual((await change({ models: ['other-chat'] })).body.models, ['other-chat'])
    await presents(tenant, PLATFORM_KEY)
    await change({ models: null })
    await presents(tenant, 'sk-after')
    const gone = await manage(gateway, 'DELETE', `provider-keys/${id}`, options)
    assert.deepEqual(gone.body, { id, object: 'provider_key', deleted: true })
    await presents(tenant, PLATFORM_KEY)
    assert.equal((await manage(gateway, 'GET', `provider-keys/${id}`, options)).status, 404)
    await eventually('reports keep what it served', async () => {
      const { items } = await usageOf(tenant, '?accessChannel=byok')
      return items.length > 0 || undefined
    })
  })

  it('shows when it was last used', async () => {
    const tenant = await newTenant()
    const id = await bringKey(gateway, tenant.token, ownKey('sk-used'))
    await ask(gateway, tenant)
    const usedAt = await eventually('the use is recorded', async () => {
      const { body } = await manage(gateway, 'GET', `provider-keys/${id}`, { key: tenant.token })
      return body.last_used_at ?? undefined
    })
    assert.ok(Math.abs(Date.parse(usedAt) - Date.now()) < 60_000)
  })
})

describe('a provider key that its provider refuses', () => {
  const isDisabled = (tenant: TestTenant, id: string) =>
    eventually('the key is disabled', async () => {
      const { body } = await manage(gateway, 'GET', `provider-keys/${id}`, { key: tenant.token })
      return body.status === 'disabled' ? body : undefined
    })

  it('is disabled, and the platform does not step in unasked', async () => {
    const tenant = await newTenant()
    refused.set('sk-refused', 401)
    const id = await bringKey(gateway, tenant.token, ownKey('sk-refused'))
    const first = await ask(gateway, tenant)
    assert.deepEqual([first.status, first.keys], [403, ['sk-refused']])
    assert.equal(first.body.error.code, 'access_denied')
    assert.ok(first.body.error.message.includes(id))
    assert.match(first.body.error.hint, new RegExp(`/v1/management/provider-keys/${id}/rotate`))
    const { disabled_at, disabled_reason } = await isDisabled(tenant, id)
    assert.match(disabled_reason, /refused it with status 401/)
    assert.ok(Math.abs(Date.parse(disabled_at) - Date.now()) < 60_000)
    for (const at of [gateway, neighbour]) {
      const later = await eventually(
        'the refusal is known',
        async () => {
          const answer = await ask(at, tenant)
          return answer.keys.length === 0 ? answer : undefined
        },
        WITHIN_MS,
      )
      assert.equal(later.status, 403)
      assert.match(later.body.error.message, /cannot be used/)
    }
    const line = await eventually('the log has it', () => gateway.lines('provider_key.disabled')[0])
    assert.equal(line.provider_key_id, id)
    const metrics = await (await gateway.fetch('/metrics', { key: null })).text()
    assert.match(metrics, /tollgate_provider_keys_disabled_total\{provider="openai"\} 1/)
    assert.equal((await usageOf(tenant)).summary.total_requests, 0)
    // Another secret makes it whole.
    await manage(gateway, 'POST', `provider-keys/${id}/rotate`, { key: tenant.token, body: { key: 'sk-mended' } })
    await presents(tenant, 'sk-mended')
  })

  it('stays as it is when it may have been about something else, and its owner is told', async () => {
    const tenant = await newTenant()
    refused.set('sk-doubted', 400)
    const id = await bringKey(gateway, tenant.token, ownKey('sk-doubted'))
    for (let repeat = 0; repeat < 2; repeat++) {
      const { status, keys, body } = await ask(gateway, tenant)
      assert.deepEqual([status, keys, body.error.code], [403, ['sk-doubted'], 'access_denied'])
      assert.match(body.error.hint, new RegExp(`${id}/test`))
    }
  })

  it('gives way to the next key, and to the platform where its owner said so', async () => {
    const tenant = await newTenant()
    refused.set('sk-bad-one', 401)
    const options = { priority: 1, fallback: 'platform' }
    const bad = await bringKey(gateway, tenant.token, ownKey('sk-bad-one', options))
    const good = await bringKey(gateway, tenant.token, ownKey('sk-good-one', { ...options, priority: 2 }))
    const first = await ask(gateway, tenant)
    assert.deepEqual([first.status, first.keys], [200, ['sk-bad-one', 'sk-good-one']])
    await isDisabled(tenant, bad)
    await presents(tenant, 'sk-good-one')
    refused.set('sk-good-one', 403)
    const second = await ask(gateway, tenant)
    assert.deepEqual([second.status, second.keys], [200, ['sk-good-one', PLATFORM_KEY]])
    await isDisabled(tenant, good)
    await presents(tenant, PLATFORM_KEY)
    const demanding = await ask(gateway, tenant, { headers: { 'x-access-channel': 'byok' } })
    assert.deepEqual([demanding.status, demanding.keys], [403, []])
    const platform = await eventually('the fallback is reported', async () => {
      const report = await usageOf(tenant, '?accessChannel=platform')
      return report.items[0]
    })
    assert.equal(platform.cost_decimal, PLATFORM_COST)
  })
})

describe('a provider key whose address leads inside', () => {
  it('is refused when it shows, and otherwise when a request would go there', async () => {
    const closed = await Gateway.start({ config: configFor(upstream.url) })
    try {
      const create = (base_url: string) =>
        manage(closed, 'POST', 'provider-keys', { body: { provider: 'openai', key: 'sk-inside', base_url } })
      for (const url of [
        `${upstream.url}/v1`,
        'https://169.254.169.254/',
        'https://[::1]/',
        'https://u@example.com/',
      ]) {
        const { status, body } = await create(url)
        assert.deepEqual([status, body.error.param], [400, 'base_url'], url)
      }
      const { port } = new URL(upstream.url)
      const made = await create(`https://localhost:${port}/v1`)
      assert.equal(made.status, 201)
      await manage(closed, 'PATCH', `provider-keys/${made.body.id}`, { body: { models: ['test-chat'] } })
      const before = upstream.seen.length
      const answer = await eventually(
        'the key is met',
        async () => {
          const { status, body } = await ask(closed, { credential: closed.apiKey })
          return status === 403 ? body : undefined
        },
        WITHIN_MS,
      )
      assert.match(answer.error.message, /leads where this gateway may not go/)
      const test = await manage(closed, 'POST', `provider-keys/${made.body.id}/test`)
      assert.deepEqual([test.status, test.body.outcome], [200, 'unreachable'])
      assert.ok(upstream.seen.slice(before).every(({ headers }) => presented(headers) === PLATFORM_KEY))
    } finally {
      await closed.stop()
    }
  })
})

describe('the secrets of provider keys', () => {
  it('stand nowhere in the database, in the log, or in what the control plane answers', async () => {
    const tenant = await newTenant()
    const secrets = Array.from({ length: 20 }, (_, i) => `sk-canary-${i}-${'q7Zp'.repeat(8)}`)
    const answers: unknown[] = []
    for (const secret of secrets) {
      const id = await bringKey(gateway, tenant.token, ownKey(secret))
      await presents(tenant, secrets[0] as string)
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/test'],
        ['PATCH', ''],
      ]) {
        const body = method === 'PATCH' ? { name: 'canary' } : undefined
        answers.push(
          (await manage(gateway, method as string, `provider-keys/${id}${path}`, { key: tenant.token, body })).body,
        )
      }
    }
    answers.push((await manage(gateway, 'GET', 'provider-keys', { key: tenant.token })).body)
    await reported(tenant, upstream.seen.filter(seen => presented(seen.headers) === secrets[0] && seen.text).length)
    const places = {
      database: await dump(database),
      log: JSON.stringify(gateway.log),
      answers: JSON.stringify(answers),
    }
    for (const [place, text] of Object.entries(places)) {
      assert.ok(text.length > 1_000)
      for (const secret of secrets) {
        const bytes = Buffer.from(secret)
        const shapes = [
          secret,
          bytes.toString('hex'),
          bytes.toString('base64').replace(/=+$/, ''),
          encodeURIComponent(secret),
        ]
        for (const shape of shapes) assert.ok(!text.includes(shape), `${place} shows ${shape}`)
      }
    }
  })
})

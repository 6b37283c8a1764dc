import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { commandBeside } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { answerWhole, type Script, ScriptedUpstream } from '../support/upstream.ts'

/** Delivery policies (spec, Delivery policy) and what a request asks of a model (docs/routing.md). */

let official: ScriptedUpstream
let verified: ScriptedUpstream
let gateway: Gateway

const PRICES = {
  official: 'price: { input: "10", output: "20" }',
  verified: 'price: { input: "1", output: "2" }',
}

before(async () => {
  ;[official, verified] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()])
  gateway = await Gateway.start({
    config: `
routing: { ejection: false, retry_share: 1 }
channels:
  - { id: official, provider: openai, base_url: "${official.url}/v1", api_key: k-official }
  - { id: verified, provider: openai, base_url: "${verified.url}/v1", api_key: k-verified, tier: verified }
models:
  - id: both
    scene: chat
    offers: [{ channel: official, ${PRICES.official} }, { channel: verified, ${PRICES.verified} }]
  - { id: official-only, scene: chat, ${PRICES.official}, tags: [plain], offers: [{ channel: official }] }
  - id: able
    scene: chat
    ${PRICES.verified}
    capabilities: [tools, vision]
    offers: [{ channel: official, capabilities: [tools] }, { channel: verified, weight: 1 }]
  - { id: embedder, scene: embedding, price: { input: "1" }, offers: [{ channel: official }] }
`,
  })
})

after(async () => {
  await gateway?.stop()
  await Promise.all([official?.stop(), verified?.stop()])
})

const CHAT = { messages: [{ role: 'user', content: 'Hi' }] }

function ask(model: string, policy?: string, fields: Record<string, unknown> = {}, key?: string): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    { model, ...CHAT, ...fields },
    { ...(key && { key }), headers: policy === undefined ? {} : { 'x-gateway-delivery-policy': policy } },
  )
}

async function faultOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error
}

/** What a good answer is recorded as. */
async function delivered(response: Response): Promise<{ tier: string; cost: string }> {
  assert.equal(response.status, 200)
  await response.arrayBuffer()
  const database = gateway.database?.open()
  return eventually('the usage row', async () => {
    const { rows } = await sql<{ tier: string; cost: string }>`
      select delivery_tier as tier, trim_scale(cost)::text as cost from usage_events
      where request_id = ${response.headers.get('x-request-id')}
    `.execute(database as NonNullable<typeof database>)
    return rows[0]
  })
}

const OFFICIAL = { tier: 'official', cost: '0.0002' }
const VERIFIED = { tier: 'verified', cost: '0.00002' }

const busy: Script = (_request, response) => void response.writeHead(503).end()

interface MadeKey {
  readonly id: string
  readonly key: string
}

async function makeKey(settings: Record<string, unknown>): Promise<MadeKey> {
  return (await manage(gateway, 'POST', 'api-keys', { body: { name: 'made', ...settings } })).body
}

describe('a delivery policy', () => {
  it('that is auto is verified delivery where there is any, then official, at the price of what completes', async () => {
    for (const stream of [false, true]) {
      for (const policy of [undefined, 'auto']) {
        assert.deepEqual(await delivered(await ask('both', policy, { stream })), VERIFIED)
      }
      verified.script = busy
      assert.deepEqual(await delivered(await ask('both', 'auto', { stream })), OFFICIAL)
      verified.script = answerWhole()
    }
  })

  it('that names a tier is delivered by that one and no other', async () => {
    assert.deepEqual(await delivered(await ask('both', 'official')), OFFICIAL)
    assert.deepEqual(await delivered(await ask('both', 'verified')), VERIFIED)
    official.script = busy
    const asked = verified.seen.length
    const response = await ask('both', 'official')
    assert.equal(response.status, 503)
    assert.equal((await faultOf(response)).code, 'all_channels_failed')
    assert.equal(verified.seen.length, asked)
    official.script = answerWhole()
  })

  it('that nothing can satisfy is 503 delivery_tier_unavailable with the id of the request', async () => {
    const response = await ask('official-only', 'verified')
    assert.equal(response.status, 503)
    const fault = await faultOf(response)
    assert.equal(fault.code, 'delivery_tier_unavailable')
    assert.equal(fault.retryable, true)
    assert.equal(fault.request_id, response.headers.get('x-request-id'))
  })

  it('that there is none of is 400, naming the header and the three values, whatever is asked', async () => {
    const headers = { 'x-gateway-delivery-policy': 'cheap' }
    const requests: [string, unknown, Record<string, string>][] = [
      ['/v1/chat/completions', { model: 'both', ...CHAT }, {}],
      ['/v1/messages', { model: 'both', max_tokens: 9, ...CHAT }, { 'anthropic-version': '2023-06-01' }],
      ['/v1/responses', { model: 'both', input: 'Hi' }, {}],
      ['/v1beta/models/both:generateContent', { contents: [{ parts: [{ text: 'Hi' }] }] }, {}],
      ['/v1/embeddings', { model: 'embedder', input: 'Hi' }, {}],
    ]
    for (const [path, body, own] of requests) {
      const response = await gateway.post(path, body, { headers: { ...headers, ...own } })
      assert.equal(response.status, 400, path)
      const { message } = await faultOf(response)
      assert.match(String(message), /X-Gateway-Delivery-Policy.*`auto`, `verified`, `official`/)
    }
    for (const value of ['', 'auto, verified', 'AUTO']) assert.equal((await ask('both', value)).status, 400, value)
  })

  it('is the header’s, then the key’s, then the workspace’s', async () => {
    const { id, key } = await makeKey({ delivery_policy: 'official' })
    assert.deepEqual(await delivered(await ask('both', undefined, {}, key)), OFFICIAL)
    assert.deepEqual(await delivered(await ask('both', 'verified', {}, key)), VERIFIED)
    await commandBeside(gateway, 'workspaces', 'set-delivery', 'default', 'default', 'official')
    assert.match(await commandBeside(gateway, 'workspaces', 'list', 'default'), /default\s+official/)
    await eventually('the workspace is heard', async () =>
      (await delivered(await ask('both'))).tier === 'official' ? true : undefined,
    )
    assert.deepEqual(await delivered(await ask('both', 'auto')), VERIFIED)
    await manage(gateway, 'PATCH', `api-keys/${id}`, { body: { delivery_policy: 'verified' } })
    await eventually('the key is heard', async () =>
      (await delivered(await ask('both', undefined, {}, key))).tier === 'verified' ? true : undefined,
    )
    await commandBeside(gateway, 'workspaces', 'set-delivery', 'default', 'default', 'auto')
  })

  it('holds what the dearest may cost that it lets deliver', async () => {
    const { key } = await makeKey({ limit_amount: '0.05' })
    // 4,096 tokens of output come to 0.082 USD at the one, and to 0.008 at the other.
    assert.equal((await ask('both', 'auto', {}, key)).status, 402)
    assert.equal((await ask('both', 'verified', {}, key)).status, 200)
  })
})

describe('what a request needs', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.test/a.png' } }] }]

  it('is asked only of those who can do it', async () => {
    assert.equal((await ask('able', 'official', { tools })).status, 200)
    assert.deepEqual((await delivered(await ask('able', 'auto', { messages: image }))).tier, 'verified')
  })

  it('is refused with what is missing where nobody can do it', async () => {
    const asked = official.seen.length + verified.seen.length
    for (const [policy, fields, missing] of [
      ['official', { messages: image }, /lacks what this request needs: vision\./],
      ['auto', { tools, response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, /needs: json_schema\./],
    ] as const) {
      const response = await ask('able', policy, fields)
      assert.equal(response.status, 400)
      const fault = await faultOf(response)
      assert.match(String(fault.message), missing)
      assert.equal(fault.param, 'model')
    }
    assert.equal(official.seen.length + verified.seen.length, asked)
  })

  it('is left to the upstream where nobody said what the model can do', async () => {
    assert.equal((await ask('official-only', undefined, { messages: image, tools })).status, 200)
  })
})

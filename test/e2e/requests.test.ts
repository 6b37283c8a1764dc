import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { commandBeside, createToken, insertKey } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, completion, ScriptedUpstream } from '../support/upstream.ts'

/** What the owner of a request can learn of it afterwards. */

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
type Explanation = any

let first: ScriptedUpstream
let second: ScriptedUpstream
let gateway: Gateway

before(async () => {
  first = await ScriptedUpstream.start()
  second = await ScriptedUpstream.start()
  gateway = await Gateway.start({
    config: `
channels:
  - { id: secret-reseller, provider: openai, base_url: "${first.url}/v1", api_key: k, tier: verified }
  - { id: secret-maker, provider: openai, base_url: "${second.url}/v1", api_key: k }
models:
  - id: both
    vendor: acme
    scene: chat
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: secret-reseller }, { channel: secret-maker, price: { input: "3", output: "4", per: 1M } }]
  - { id: one, scene: chat, price: { input: "1", output: "2", per: 1M }, offers: [{ channel: secret-reseller }] }
`,
  })
})

after(async () => {
  await gateway?.stop()
  await first?.stop()
  await second?.stop()
})

/** Sends a request. @returns its id, when its answer is over */
async function ask(model: string, fields: object = {}): Promise<string> {
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], ...fields }
  const response = await gateway.post('/v1/chat/completions', body)
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

async function explained(id: string, key?: string): Promise<Explanation> {
  return eventually(`what became of ${id}`, async () => {
    const response = await gateway.fetch(`/v1/requests/${id}`, { ...(key && { key }) })
    return response.status === 200 ? response.json() : undefined
  })
}

describe('a request that is over', () => {
  it('is explained to its key: what was tried, how long it took, and what it cost at which price', async () => {
    first.script = (_request, response) => void response.writeHead(503).end('{"error":{"message":"sk-leak"}}')
    second.script = answerWhole(completion())
    const id = await ask('both')
    const explanation = await explained(id)
    assert.deepEqual(
      [explanation.id, explanation.model, explanation.model_vendor, explanation.scene, explanation.outcome],
      [id, 'both', 'acme', 'chat', 'completed'],
    )
    const [failed, last, ...more] = explanation.attempts
    assert.equal(more.length, 0)
    assert.deepEqual(
      [failed.attempt, failed.outcome, failed.access_channel, failed.error.status, failed.may_be_billed],
      [0, 'failed', 'platform', 503, false],
    )
    assert.deepEqual([last.attempt, last.outcome], [1, 'completed'])
    assert.ok(failed.duration_ms >= 0 && explanation.timings.duration_ms >= failed.duration_ms)
    assert.equal(explanation.delivery_tier, 'official')
    assert.deepEqual([explanation.usage.prompt_tokens, explanation.usage.completion_tokens], [10, 5])
    // 10 tokens at 3 and 5 at 4 millionths of a dollar.
    assert.equal(explanation.cost_decimal, '0.00005')
    assert.deepEqual(explanation.price.rates, { input: '0.000003', output: '0.000004' })
    assert.match(explanation.billing_transaction_id, /^btx_/)
  })

  it('says nothing of the operator’s channels, of their addresses, or of what they said', async () => {
    first.script = (_request, response) => void response.writeHead(503).end('{"error":{"message":"sk-leak"}}')
    const text = JSON.stringify(await explained(await ask('both')))
    assert.doesNotMatch(text, /secret-|sk-leak|127\.0\.0\.1/)
  })

  it('tells when the first words of a stream came', async () => {
    first.script = answerWhole()
    const { timings, attempts } = await explained(await ask('one', { stream: true }))
    assert.ok(timings.first_output_ms >= 0 && timings.first_output_ms <= timings.duration_ms)
    assert.equal(attempts.length, 1)
  })

  it('that got no answer is explained by its failures, and cost nothing', async () => {
    first.script = (_request, response) => void response.writeHead(400).end('{"error":{"message":"no"}}')
    const explanation = await explained(await ask('one'))
    assert.deepEqual([explanation.outcome, explanation.cost_decimal, explanation.attempts.length], ['failed', '0', 1])
    assert.equal(explanation.attempts[0].error.status, 400)
  })

  it('is nobody else’s to know of', async () => {
    first.script = answerWhole()
    const id = await ask('one')
    assert.equal((await explained(id, gateway.managementToken)).id, id)
    await commandBeside(gateway, 'orgs', 'create', 'rivals')
    const strangers = [
      (await insertKey(gateway)).credential,
      (await createToken(gateway, '--org', 'rivals')).credential,
    ]
    for (const key of strangers) {
      const response = await gateway.fetch(`/v1/requests/${id}`, { key })
      assert.equal(response.status, 404)
    }
    for (const unheard of ['req_unheard', 'req_', 'x', id.toLowerCase(), `${id}0`]) {
      const response = await gateway.fetch(`/v1/requests/${unheard}`)
      assert.equal(response.status, 404, unheard)
    }
    assert.equal((await gateway.fetch(`/v1/requests/${id}`, { key: null })).status, 401)
  })
})

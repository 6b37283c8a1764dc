import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, completion, configFor, DONE, ScriptedUpstream } from '../support/upstream.ts'

describe('a chat completion', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway

  before(async () => {
    upstream = await ScriptedUpstream.start()
    gateway = await Gateway.start({ config: configFor(upstream.url) })
  })

  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

  it('reaches the upstream byte for byte but for the model and the credential', async () => {
    upstream.script = answerWhole()
    const body = `{ "x_unknown": [1.50, {"a":null}],\t"model" : "test-chat", "messages":[{"role":"user","content":"h\\u00e9 \\ud83d\\ude00 €"}] , "temperature":1.0}`
    const response = await gateway.post('/v1/chat/completions', body)
    assert.equal(response.status, 200)
    const seen = upstream.seen.at(-1)
    assert.equal(seen?.text, body.replace('"test-chat"', '"upstream-model"'))
    assert.equal(seen?.headers.authorization, 'Bearer sk-upstream-secret')
    assert.equal(seen?.path, '/v1/chat/completions')
  })

  it('answers with the public model id and every other byte of the upstream', async () => {
    upstream.script = answerWhole({ fields: { x_vendor: { deep: [1, 2] } } })
    const response = await gateway.post('/v1/chat/completions', request)
    const expected = JSON.stringify(completion({ x_vendor: { deep: [1, 2] } })).replace(
      '"upstream-model"',
      '"test-chat"',
    )
    assert.equal(await response.text(), expected)
    assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]{24}$/)
    assert.equal(response.headers.get('request-id'), response.headers.get('x-request-id'))
  })

  it('appears in the usage report with its exact cost', async () => {
    upstream.script = answerWhole({
      fields: {
        usage: {
          prompt_tokens: 1000,
          completion_tokens: 7,
          total_tokens: 1007,
          prompt_tokens_details: { cached_tokens: 400 },
        },
      },
    })
    const response = await gateway.post('/v1/chat/completions', request)
    const id = response.headers.get('x-request-id')
    const item = await eventually('the usage item', async () => {
      const { items } = await gateway.usage()
      return items.find(each => each.request_id === id)
    })
    // 600 × 1 $/M + 400 × 0.5 $/M + 7 × 2 $/M
    assert.equal(item.cost_decimal, '0.000814')
    assert.equal(item.cache_read_tokens, 400)
    assert.equal(item.usage_unit, 'per_token')
    assert.equal(item.model, 'test-chat')
    assert.equal(item.model_vendor, 'acme')
    assert.match(String(item.billing_transaction_id), /^btx_/)
  })

  it('streams, keeps the usage chunk to itself unless asked for it, and meters it', async () => {
    upstream.script = answerWhole()
    const response = await gateway.post('/v1/chat/completions', { ...request, stream: true })
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    const text = await response.text()
    assert.deepEqual(upstream.seen.at(-1)?.body.stream_options, { include_usage: true })
    assert.ok(!text.includes('prompt_tokens'))
    assert.ok(text.endsWith(DONE))
    assert.ok(!text.includes('upstream-model'))
    const id = response.headers.get('x-request-id')
    const item = await eventually('the usage item', async () =>
      (await gateway.usage()).items.find(each => each.request_id === id),
    )
    assert.equal(item.cost_decimal, '0.00002')
  })

  it('passes the usage chunk on to a client that asked for it', async () => {
    upstream.script = answerWhole()
    const response = await gateway.post('/v1/chat/completions', {
      ...request,
      stream: true,
      stream_options: { include_usage: true, x: 1 },
    })
    const text = await response.text()
    assert.ok(text.includes('"prompt_tokens":10'))
    assert.deepEqual(upstream.seen.at(-1)?.body.stream_options, { include_usage: true, x: 1 })
  })
})

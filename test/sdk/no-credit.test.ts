import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { commandBeside } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'

/** An organization without credit: every SDK hears of it in its own words, and no upstream is asked. */

let upstream: ScriptedUpstream
let gateway: Gateway

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: configFor(upstream.url, 'bootstrap: { credit: "0" }') })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

const model = 'test-chat'
const messages = [{ role: 'user' as const, content: 'Hi' }]

describe('without credit', () => {
  it('the OpenAI SDK gets 402 insufficient_balance with what it would take, whole and streamed', async () => {
    // Two retries are what the SDK does by default, and must not do here.
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey })
    const asked = [
      () => client.chat.completions.create({ model, messages }),
      () => client.chat.completions.create({ model, messages, stream: true }),
      () => client.responses.create({ model, input: 'Hi' }),
    ]
    for (const ask of asked) {
      const error: unknown = await ask().then(
        () => undefined,
        each => each,
      )
      assert.ok(error instanceof OpenAI.APIError)
      assert.deepEqual([error.status, error.code, error.type], [402, 'insufficient_balance', 'insufficient_balance'])
      const { balance_usd, estimated_cost_usd } = error.error as Record<string, number>
      assert.equal(balance_usd, 0)
      assert.ok((estimated_cost_usd ?? 0) > 0)
    }
  })

  it('the Anthropic SDK gets a billing error', async () => {
    const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey })
    await assert.rejects(
      client.messages.create({ model, max_tokens: 10, messages }),
      (error: unknown) => error instanceof Anthropic.APIError && error.status === 402 && error.type === 'billing_error',
    )
  })

  it('the Google SDK gets a failed precondition', async () => {
    const client = new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
    await assert.rejects(
      client.models.generateContent({ model, contents: 'Hi' }),
      (error: unknown) =>
        error instanceof ApiError && error.status === 402 && /FAILED_PRECONDITION/.test(error.message),
    )
  })

  it('nothing was asked of the upstream, and counting tokens is free all the same', async () => {
    const response = await gateway.post(`/v1beta/models/${model}:countTokens`, {
      contents: [{ parts: [{ text: 'Hi' }] }],
    })
    assert.equal(response.status, 200)
    assert.equal(upstream.seen.length, 0)
    await eventually('a line for each refusal, and none more', () => {
      const refused = gateway.lines('request.completed').filter(line => line.status === 402)
      return refused.length === 5 || undefined
    })
  })
})

describe('credit that another request holds', () => {
  it('is waited for by the SDKs on their own, because the answer tells them to', async () => {
    await commandBeside(gateway, 'credit', 'add', 'default', '0.003')
    // Of 0.003 USD a request of a thousand tokens holds 0.002 until it has ended.
    const held = Promise.withResolvers<void>()
    upstream.script = async (request, response, socket) => {
      if (upstream.seen.length === 1) await held.promise
      await answerWhole()(request, response, socket)
    }
    const openai = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey })
    const anthropic = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey })
    const first = openai.chat.completions.create({ model, messages })
    await eventually('the first request', () => upstream.seen[0])
    const refusedBefore = refusals().length
    const waiting = [
      openai.chat.completions.create({ model, messages }),
      anthropic.messages.create({ model, max_tokens: 1_000, messages }),
    ]
    await eventually('two refusals', () => refusals().length >= refusedBefore + 2 || undefined)
    held.resolve()
    await first
    assert.equal((await Promise.all(waiting)).length, 2)
  })
})

function refusals(): readonly unknown[] {
  return gateway.lines('request.completed').filter(line => line.status === 402)
}

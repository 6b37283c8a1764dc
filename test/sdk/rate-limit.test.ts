import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Database } from '#storage/database.ts'
import { setOrganizationRate } from '#tenants/store.ts'
import { secretOf } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { createPayer, type TestPayer } from '../support/payer.ts'
import { configFor, ScriptedUpstream } from '../support/upstream.ts'

/** More requests than a minute allows: every SDK knows what happened, and waits as long as it is told. */

let upstream: ScriptedUpstream
let gateway: Gateway
let database: Database

before(async () => {
  upstream = await ScriptedUpstream.start()
  const limits = 'limits: { requests_per_minute: { user: 1 } }'
  gateway = await Gateway.start({ config: configFor(upstream.url, limits) })
  assert.ok(gateway.database)
  database = gateway.database.open()
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

const model = 'test-chat'
const messages = [{ role: 'user' as const, content: 'Hi' }]

/** An organization that has sent what it may. */
async function exhaustedPayer(): Promise<TestPayer> {
  const payer = await createPayer(database, { credit: '10', secret: await secretOf(gateway) })
  assert.equal((await gateway.fetch('/v1/models', { key: payer.credential })).status, 200)
  return payer
}

/** Lets an SDK wait for what it was told only until the limit has been raised, as though that time had passed. */
class Patience {
  /** How often the SDK has begun to wait exactly as long as it was told. */
  waits = 0
  #toldMs: number | undefined

  constructor(context: TestContext, payer: TestPayer) {
    const { setTimeout: setRealTimeout } = globalThis
    const wait = (run: () => void, ms?: number) => {
      if (ms === undefined || ms !== this.#toldMs) return setRealTimeout(run, ms)
      this.#toldMs = undefined
      this.waits += 1
      void raiseLimit(payer).then(run)
      return setRealTimeout(() => {}, 0)
    }
    context.mock.method(globalThis, 'setTimeout', wait as typeof setTimeout)
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (response.status === 429) this.#toldMs = Number(response.headers.get('retry-after')) * 1_000
    return response
  }
}

async function raiseLimit({ organizationId, credential: key }: TestPayer): Promise<void> {
  await database.transaction().execute(transaction => setOrganizationRate(transaction, organizationId, 1_000))
  await eventually('the new limit', async () =>
    (await gateway.fetch('/v1/models', { key })).status === 200 ? true : undefined,
  )
}

describe('beyond the rate limit', () => {
  it('the OpenAI SDK throws a RateLimitError that says when to come back', async () => {
    const { credential } = await exhaustedPayer()
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: credential, maxRetries: 0 })
    const asked = [
      () => client.chat.completions.create({ model, messages }),
      () => client.chat.completions.create({ model, messages, stream: true }),
      () => client.responses.create({ model, input: 'Hi' }),
      () => client.embeddings.create({ model: 'test-embedding', input: 'Hi' }),
      () => client.models.list(),
    ]
    for (const ask of asked) {
      const error = await ask().then(
        () => assert.fail('it was admitted'),
        (each: unknown) => each,
      )
      assert.ok(error instanceof OpenAI.RateLimitError)
      assert.deepEqual([error.code, error.type], ['rate_limit_exceeded', 'rate_limit_exceeded'])
      const { retry_after } = error.error as { retry_after: number }
      assert.equal(error.headers.get('retry-after'), String(retry_after))
    }
  })

  it('the OpenAI SDK waits as long as it is told, and is served', async context => {
    const payer = await exhaustedPayer()
    const patience = new Patience(context, payer)
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: payer.credential, fetch: patience.fetch })
    const { response } = await client.chat.completions.create({ model, messages }).withResponse()
    assert.equal(patience.waits, 1)
    assert.equal(response.headers.get('x-ratelimit-limit-requests'), '1000')
  })

  it('the Anthropic SDK throws a RateLimitError, whole and streamed', async () => {
    const { credential } = await exhaustedPayer()
    const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: credential, maxRetries: 0 })
    const asked = [
      () => client.messages.create({ model, max_tokens: 10, messages }),
      () => client.messages.create({ model, max_tokens: 10, messages, stream: true }),
      () => client.messages.countTokens({ model, messages }),
    ]
    for (const ask of asked) {
      const error = await ask().then(
        () => assert.fail('it was admitted'),
        (each: unknown) => each,
      )
      assert.ok(error instanceof Anthropic.RateLimitError)
      assert.equal(error.type, 'rate_limit_error')
      assert.equal(error.headers.get('anthropic-ratelimit-requests-remaining'), '0')
    }
  })

  it('the Anthropic SDK waits as long as it is told, and is served', async context => {
    const payer = await exhaustedPayer()
    const patience = new Patience(context, payer)
    const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: payer.credential, fetch: patience.fetch })
    await client.messages.create({ model, max_tokens: 10, messages })
    assert.equal(patience.waits, 1)
  })

  it('the Google SDK reads RESOURCE_EXHAUSTED and the delay', async () => {
    const { credential } = await exhaustedPayer()
    const client = new GoogleGenAI({ apiKey: credential, httpOptions: { baseUrl: gateway.baseUrl } })
    await assert.rejects(client.models.generateContent({ model, contents: 'Hi' }), (error: unknown) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.status, 429)
      assert.match(error.message, /RESOURCE_EXHAUSTED/)
      assert.match(error.message, /"retryDelay":\s*"\d+s"/)
      return true
    })
  })

  it("an upstream's own 429 is no limit of the caller's", async () => {
    const payer = await exhaustedPayer()
    await raiseLimit(payer)
    const { script } = upstream
    upstream.script = (_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
      response.end(JSON.stringify({ error: { message: 'too many', type: 'requests', code: 'rate_limit_exceeded' } }))
    }
    try {
      const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: payer.credential, maxRetries: 0 })
      await assert.rejects(
        client.chat.completions.create({ model, messages }),
        (error: unknown) => error instanceof OpenAI.APIError && error.status === 503,
      )
    } finally {
      upstream.script = script
    }
  })
})

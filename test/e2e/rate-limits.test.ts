import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Database } from '#storage/database.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { createApiKey, setOrganizationRate, updateApiKey } from '#tenants/store.ts'
import { secretOf } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { createPayer, type TestPayer } from '../support/payer.ts'
import { configFor, ScriptedUpstream } from '../support/upstream.ts'

const USER_RATE = 6
const model = 'test-chat'
const messages = [{ role: 'user', content: 'Hi' }]
const chat = { model, messages }

let upstream: ScriptedUpstream
let gateway: Gateway
let database: Database
let secret: string

const limits = (user: number) => `limits: { requests_per_minute: { user: ${user} } }`

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: configFor(upstream.url, limits(USER_RATE)) })
  assert.ok(gateway.database)
  database = gateway.database.open()
  secret = await secretOf(gateway)
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

/** An organization that nobody has asked for anything yet. */
const newPayer = (): Promise<TestPayer> => createPayer(database, { credit: '10', secret })

async function setRate({ organizationId }: TestPayer, rate: number | undefined): Promise<void> {
  await database.transaction().execute(transaction => setOrganizationRate(transaction, organizationId, rate))
}

async function setKeyRate({ keyId }: TestPayer, requestsPerMinute: number | undefined): Promise<void> {
  await database.transaction().execute(transaction => updateApiKey(transaction, keyId, { requestsPerMinute }))
}

const send = ({ credential: key }: { credential: string }, body: unknown = chat) =>
  gateway.post('/v1/chat/completions', body, { key })

/** Uses up what is left. @returns the refusal */
async function exhaust(payer: TestPayer): Promise<Response> {
  for (;;) {
    const response = await gateway.fetch('/v1/models', { key: payer.credential })
    if (response.status === 429) return response
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

const remaining = (response: Response) => response.headers.get('x-ratelimit-remaining-requests')

describe('the limit of an organization', () => {
  it('is what its role allows, and every answer says what is left of it, whatever the answer is', async () => {
    const { credential: key } = await newPayer()
    const answers = [
      await gateway.post('/v1/chat/completions', chat, { key }),
      await gateway.post('/v1/chat/completions', { ...chat, stream: true }, { key }),
      await gateway.post('/v1/chat/completions', { ...chat, model: 'nothing' }, { key }),
      await gateway.fetch('/v1/models', { key }),
      await gateway.fetch('/v1/responses/resp_none', { key }),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 400, 200, 404],
    )
    assert.deepEqual(answers.map(remaining), ['5', '4', '3', '2', '1'])
    for (const { headers } of answers) {
      assert.equal(headers.get('x-ratelimit-limit-requests'), String(USER_RATE))
      assert.match(headers.get('x-ratelimit-reset-requests') ?? '', /^(1m0s|5\ds)$/)
    }
  })

  it('is said to callers of /v1/messages as their SDKs look for it', async () => {
    const { credential: key } = await newPayer()
    const headers = { 'anthropic-version': '2023-06-01' }
    const body = { model, max_tokens: 10, messages }
    for (const [path, request] of [
      ['/v1/messages', body],
      ['/v1/messages', { ...body, stream: true }],
      ['/v1/messages/count_tokens', { model, messages }],
    ] as const) {
      const answer = await gateway.post(path, request, { key, headers })
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(answer.headers.get('anthropic-ratelimit-requests-limit'), String(USER_RATE))
      assert.equal(answer.headers.get('anthropic-ratelimit-requests-remaining'), remaining(answer))
      const reset = answer.headers.get('anthropic-ratelimit-requests-reset') ?? ''
      assert.match(reset, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.ok(Math.abs(Date.parse(reset) - Date.now() - 60_000) < 10_000)
    }
  })

  it('refuses what goes beyond, says whose limit it is and when to come back, and asks no upstream', async () => {
    const payer = await newPayer()
    await exhaust(payer)
    const seen = upstream.seen.length
    const answer = await send(payer)
    assert.equal(answer.status, 429)
    const { error } = (await answer.json()) as { error: Record<string, unknown> }
    assert.deepEqual([error.type, error.code, error.retryable], ['rate_limit_exceeded', 'rate_limit_exceeded', true])
    assert.match(String(error.message), /organization.* 6 requests a minute.*Try again in \d+ s/)
    const seconds = Number(answer.headers.get('retry-after'))
    assert.equal(error.retry_after, seconds)
    assert.ok(Number.isInteger(seconds) && seconds > 50 && seconds <= 60)
    assert.equal(remaining(answer), '0')
    assert.equal(upstream.seen.length, seen)
    await eventually('the log line', () =>
      gateway.lines('request.completed').some(line => line.status === 429 && line.rate_limited === 'organization')
        ? true
        : undefined,
    )
    const metrics = await (await gateway.fetch('/metrics', { key: null })).text()
    assert.match(metrics, /tollgate_rate_limited_total\{subject="organization"\} [1-9]/)
  })

  it('is worded by each family in its own way', async () => {
    const payer = await newPayer()
    await exhaust(payer)
    const { credential: key } = payer
    const headers = { 'anthropic-version': '2023-06-01' }
    const message = await gateway.post('/v1/messages', { model, max_tokens: 10, messages }, { key, headers })
    assert.equal(message.status, 429)
    assert.equal(((await message.json()) as { error: { type: string } }).error.type, 'rate_limit_error')
    assert.equal(message.headers.get('anthropic-ratelimit-requests-remaining'), '0')
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    for (const action of ['generateContent', 'streamGenerateContent', 'countTokens']) {
      const content = await gateway.post(`/v1beta/models/${model}:${action}`, { contents }, { key })
      assert.equal(content.status, 429)
      const { error } = (await content.json()) as { error: { status: string; details: Record<string, unknown>[] } }
      assert.equal(error.status, 'RESOURCE_EXHAUSTED')
      const retry = error.details.find(detail => String(detail['@type']).endsWith('google.rpc.RetryInfo'))
      assert.equal(retry?.retryDelay, `${content.headers.get('retry-after')}s`)
    }
    const response = await gateway.post('/v1/responses', { model, input: 'Hi' }, { key })
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'rate_limit_exceeded')
  })

  it('counts garbage, and refuses it unread', async () => {
    const payer = await newPayer()
    const garbage = await send(payer, '{"model":')
    assert.deepEqual([garbage.status, remaining(garbage)], [400, '5'])
    await exhaust(payer)
    assert.equal((await send(payer, '{"model":')).status, 429)
  })

  it('is no affair of strangers, who are told nothing of it', async () => {
    const answer = await gateway.post('/v1/chat/completions', chat, { key: 'sk-nobody' })
    assert.equal(answer.status, 401)
    assert.equal(remaining(answer), null)
  })

  it('follows an override within seconds, and does not forget what was sent', async () => {
    const payer = await newPayer()
    await exhaust(payer)
    await setRate(payer, USER_RATE + 2)
    const answer = await eventually('a free slot', async () => {
      const response = await send(payer)
      return response.status === 200 ? response : undefined
    })
    assert.deepEqual(
      [answer.headers.get('x-ratelimit-limit-requests'), remaining(answer)],
      [String(USER_RATE + 2), '1'],
    )
    await setRate(payer, 3)
    await eventually('the refusal', async () => ((await send(payer)).status === 429 ? true : undefined))
  })

  it('follows the configuration file while running', async () => {
    const payer = await newPayer()
    await exhaust(payer)
    await gateway.writeConfig(configFor(upstream.url, limits(USER_RATE + 1)))
    await eventually('one more slot', async () => ((await send(payer)).status === 200 ? true : undefined))
    assert.equal((await send(payer)).status, 429)
    await gateway.writeConfig(configFor(upstream.url, limits(USER_RATE)))
    await eventually('what was before', async () => {
      const answer = await gateway.fetch('/v1/models', { key: payer.credential })
      return answer.headers.get('x-ratelimit-limit-requests') === String(USER_RATE) ? true : undefined
    })
  })
})

describe('the limit of a key', () => {
  it("holds beside the organization's, and a request that is refused for one counts for neither", async () => {
    const payer = await newPayer()
    await setKeyRate(payer, 2)
    const free = await database
      .transaction()
      .execute(transaction =>
        createApiKey(transaction, new CredentialHasher(secret), { workspaceId: payer.workspaceId, name: 'free' }),
      )
    assert.deepEqual([remaining(await send(payer)), remaining(await send(payer))], ['1', '0'])
    const refused = await send(payer)
    assert.equal(refused.status, 429)
    const { error } = (await refused.json()) as { error: { message: string } }
    assert.match(error.message, /this API key is 2 requests a minute/)
    assert.equal(refused.headers.get('x-ratelimit-limit-requests'), '2')
    assert.equal(remaining(await send(free)), '3')
  })
})

describe('management routes', () => {
  const ask = () => gateway.fetch('/v1/management/balance', { key: gateway.managementToken })

  it('have the same limit once more, so that neither a dashboard nor inference starves the other', async () => {
    for (let index = USER_RATE - 1; index >= 0; index--) assert.equal(remaining(await ask()), String(index))
    const refused = await ask()
    assert.equal(refused.status, 429)
    assert.match(await refused.text(), /organization on management routes is 6 requests a minute/)
    assert.equal((await gateway.post('/v1/chat/completions', chat)).status, 200)
  })
})

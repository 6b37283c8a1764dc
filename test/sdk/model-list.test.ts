import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { Gateway } from '../support/gateway.ts'

/** One address, three families of SDKs: each lists the models and reads one in its own words. */

const IDS = ['alpha', 'vendor/beta:7b', 'gamma', 'delta', 'epsilon']

let gateway: Gateway

before(async () => {
  const models = IDS.map(
    id => `  - id: "${id}"
    name: "The ${id}"
    released: 2026-01-31
    scene: chat
    context_length: 200000
    max_output_tokens: 8000
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: main }]`,
  )
  const channel = '{ id: main, provider: openai, base_url: "http://127.0.0.1:9/v1", api_key: sk-upstream }'
  gateway = await Gateway.start({ config: `channels: [${channel}]\nmodels:\n${models.join('\n')}\n` })
})

after(() => gateway?.stop())

function openai(): OpenAI {
  return new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
}

function anthropic(): Anthropic {
  return new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
}

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of pages) found.push(each)
  return found
}

describe('the models', () => {
  it('are listed for the OpenAI SDK', async () => {
    assert.deepEqual(
      (await all(openai().models.list())).map(model => model.id),
      IDS,
    )
    assert.equal((await openai().models.retrieve('vendor/beta:7b')).id, 'vendor/beta:7b')
    await assert.rejects(openai().models.retrieve('alpa'), (error: unknown) => {
      return error instanceof OpenAI.BadRequestError && error.code === 'model_not_found' && /alpa/.test(error.message)
    })
  })

  it('are listed for the Anthropic SDK, page by page in either direction', async () => {
    const listed = await all(anthropic().models.list({ limit: 2 }))
    assert.deepEqual(
      listed.map(model => model.id),
      IDS,
    )
    assert.deepEqual(
      [listed[0]?.type, listed[0]?.display_name, listed[0]?.created_at, listed[0]?.max_input_tokens],
      ['model', 'The alpha', '2026-01-31T00:00:00Z', 200_000],
    )
    const before = await anthropic().models.list({ before_id: 'delta', limit: 2 })
    assert.deepEqual([before.data.map(model => model.id), before.has_more], [['vendor/beta:7b', 'gamma'], true])
    assert.equal((await anthropic().models.retrieve('vendor/beta:7b')).max_tokens, 8_000)
    await assert.rejects(anthropic().models.retrieve('alpa'), Anthropic.NotFoundError)
    await assert.rejects(anthropic().models.list({ limit: 0 }).then(), Anthropic.BadRequestError)
    await assert.rejects(anthropic().models.list({ after_id: 'nobody' }).then(), /after_id/)
  })

  for (const apiVersion of ['v1', 'v1beta']) {
    it(`are listed for the Google SDK under ${apiVersion}, page by page`, async () => {
      const client = new GoogleGenAI({ apiKey: gateway.apiKey, apiVersion, httpOptions: { baseUrl: gateway.baseUrl } })
      const pager = await client.models.list({ config: { pageSize: 2 } })
      const listed = await all(pager)
      assert.deepEqual(
        listed.map(model => model.name),
        IDS.map(id => `models/${id}`),
      )
      const { displayName, inputTokenLimit, outputTokenLimit } = await client.models.get({ model: 'alpha' })
      assert.deepEqual([displayName, inputTokenLimit, outputTokenLimit], ['The alpha', 200_000, 8_000])
      await assert.rejects(
        client.models.get({ model: 'alpa' }),
        (error: unknown) => error instanceof ApiError && error.status === 404 && /NOT_FOUND/.test(error.message),
      )
    })
  }

  it('are nobody’s without a key, whatever the family', async () => {
    const stranger = async (path: string, headers: Record<string, string>) => {
      const response = await gateway.fetch(path, { key: null, headers })
      return { status: response.status, body: (await response.json()) as { error: Record<string, unknown> } }
    }
    const own = await stranger('/v1/models', {})
    assert.deepEqual([own.status, own.body.error.code], [401, 'invalid_api_key'])
    const anthropicCaller = await stranger('/v1/models', { 'anthropic-version': '2023-06-01' })
    assert.deepEqual([anthropicCaller.status, anthropicCaller.body.error.type], [401, 'authentication_error'])
    const google = await stranger('/v1beta/models', {})
    assert.deepEqual([google.status, google.body.error.status], [401, 'UNAUTHENTICATED'])
  })
})

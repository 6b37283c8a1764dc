import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { Gateway } from '../support/gateway.ts'

/** What the gateway itself says to the SDKs of each family; what upstreams say is the matrix's (test/matrix). */

const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
let gateway: Gateway

function config(url: string): string {
  return `
channels:
  - { id: anthropic, provider: anthropic, base_url: "${url}/v1", api_key: sk-upstream }
models:
  - id: via-messages
    scene: chat
    context_length: 128000
    max_output_tokens: 4096
    price: { input: "1", output: "2", cache_read: "0.5", per: 1M }
    offers: [{ channel: anthropic, upstream_model: upstream-messages }]
`
}

/** One question through each of the SDKs. */
function asks(apiKey: string, model: string): Readonly<Record<'openai' | 'anthropic' | 'google', Promise<unknown>>> {
  const openai = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
  return {
    openai: openai.responses.create({ model, input: 'x' }),
    anthropic: anthropic.messages.create({ model, messages: [{ role: 'user', content: 'x' }], max_tokens: 5 }),
    google: google.models.generateContent({ model, contents: 'x' }),
  }
}

before(async () => {
  mock.addFixture({ match: { userMessage: 'words' }, response: { content: 'Some words.' } })
  await mock.start()
  gateway = await Gateway.start({ config: config(mock.url) })
})

after(async () => {
  await gateway?.stop()
  await mock.stop()
})

describe('what goes wrong', () => {
  it('is told in the words of each SDK’s family', async () => {
    const { openai, anthropic, google } = asks(`${gateway.apiKey.slice(0, -1)}_`, 'm')
    await Promise.all([
      assert.rejects(
        openai,
        (error: unknown) => error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key',
      ),
      assert.rejects(
        anthropic,
        (error: unknown) => error instanceof Anthropic.AuthenticationError && error.type === 'authentication_error',
      ),
      assert.rejects(google, (error: unknown) => error instanceof ApiError && error.status === 401),
    ])
  })

  it('names a model that was probably meant, in every family', async () => {
    const answers = Object.values(asks(gateway.apiKey, 'via-mesages'))
    await Promise.all(answers.map(answer => assert.rejects(answer, /via-mesages/)))
  })

  it('is a refusal of requests that no family could mean', async () => {
    const refused = async (path: string, headers: Record<string, string> = {}, body: unknown = {}) => {
      const response = await gateway.post(path, body, { headers })
      return { status: response.status, text: await response.text() }
    }
    const message = { model: 'via-messages', max_tokens: 5, messages: [{ role: 'user', content: 'words' }] }
    const unversioned = await refused('/v1/messages', {}, message)
    assert.equal(unversioned.status, 400)
    assert.match(unversioned.text, /compat-version/)
    const contents = { contents: [{ role: 'USER', parts: [{ text: 'words' }] }] }
    assert.equal((await refused('/v1beta/models/via-messages:sing', {}, contents)).status, 404)
    const pointed = await refused('/v1/responses', {}, { model: 'via-messages', input: 'x', previous_response_id: 'r' })
    assert.equal(pointed.status, 400)
    assert.match(pointed.text, /previous_response_id/)
  })
})

describe('native routes', () => {
  const contents = { contents: [{ role: 'USER', parts: [{ text: 'words' }] }] }
  const path = '/v1beta/models/via-messages:generateContent'

  it('take the key from the query and from either header', async () => {
    const asked = (suffix: string, headers: Record<string, string>) =>
      gateway.post(path + suffix, contents, { key: null, headers })
    assert.equal((await asked(`?key=${gateway.apiKey}`, {})).status, 200)
    assert.equal((await asked('', { 'x-native-api-key': gateway.apiKey })).status, 200)
    assert.equal((await asked('', { 'x-goog-api-key': gateway.apiKey })).status, 200)
    const stranger = await asked('', {})
    assert.equal(stranger.status, 401)
    assert.equal(typeof ((await stranger.json()) as { error: { status: unknown } }).error.status, 'string')
    assert.ok(!JSON.stringify(gateway.log).includes(gateway.apiKey))
  })

  it('say in a header what the upstream could not be told', async () => {
    const safety = { ...contents, safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] }
    const response = await gateway.post(path, safety)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('x-gateway-warnings') ?? '', /safetySettings/)
  })
})

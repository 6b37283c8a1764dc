import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { type Script, ScriptedUpstream } from '../support/upstream.ts'

/** Each SDK asks how long a prompt is; each upstream counts in its own words, or not at all. */

const FORMATS = ['messages', 'responses', 'generate-content', 'chat-completions'] as const
const PROVIDERS = {
  messages: 'anthropic',
  responses: 'openai',
  'generate-content': 'google',
  'chat-completions': 'openai',
} as const

let upstream: ScriptedUpstream
let gateway: Gateway

function config(url: string): string {
  const channels = FORMATS.map(
    format => `  - { id: ${format}, provider: ${PROVIDERS[format]}, base_url: "${url}/v1", formats: [${format}] }`,
  )
  const models = FORMATS.map(
    format => `  - id: via-${format}
    scene: chat
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: ${format}, upstream_model: upstream-model }]`,
  )
  return `channels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: config(upstream.url) })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

beforeEach(() => {
  upstream.script = counting
  upstream.seen.length = 0
})

/** What each provider says at its own address. */
const COUNTS: Readonly<Record<string, unknown>> = {
  '/v1/messages/count_tokens': { input_tokens: 41 },
  '/v1/responses/input_tokens': { object: 'response.input_tokens', input_tokens: 42 },
  '/v1/models/upstream-model:countTokens': { totalTokens: 43 },
}

const counting: Script = ({ path }, response) => {
  const count = COUNTS[path]
  response.statusCode = count ? 200 : 404
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(count ?? { error: { message: `no ${path}` } }))
}

const EXPECTED = { messages: 41, responses: 42, 'generate-content': 43 } as const

const SYSTEM = 'Be brief.'
const PROMPT = 'How many tokens are in this sentence, all in all?'
const TOOL = { name: 'look', description: 'Looks.', schema: { type: 'object' as const, properties: {} } }

const CLIENTS: Readonly<Record<string, (model: string) => Promise<number | undefined>>> = {
  messages: async model => {
    const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
    const { input_tokens } = await client.messages.countTokens({
      model,
      system: SYSTEM,
      messages: [{ role: 'user', content: PROMPT }],
      tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }],
    })
    return input_tokens
  },
  responses: async model => {
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
    const { input_tokens } = await client.responses.inputTokens.count({
      model,
      instructions: SYSTEM,
      input: PROMPT,
      tools: [
        { type: 'function', name: TOOL.name, description: TOOL.description, parameters: TOOL.schema, strict: false },
      ],
    })
    return input_tokens
  },
  'generate-content': async model => {
    const client = new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
    return (await client.models.countTokens({ model, contents: PROMPT })).totalTokens
  },
}

describe('how many tokens a request has', () => {
  for (const [client, count] of Object.entries(CLIENTS)) {
    for (const [format, tokens] of Object.entries(EXPECTED)) {
      it(`is told to the ${client} SDK by an upstream that speaks ${format}`, async () => {
        assert.equal(await count(`via-${format}`), tokens)
        const [asked] = upstream.seen
        assert.match(JSON.stringify(asked?.body), /How many tokens are in this sentence/)
        assert.match(JSON.stringify(asked?.body), /upstream-model/)
        assert.ok(!/max_tokens|"stream"|maxOutputTokens/.test(asked?.text ?? ''))
        if (client !== 'generate-content') assert.match(asked?.text ?? '', /Be brief\..*"look"|"look".*Be brief\./s)
      })
    }

    it(`is an estimate for the ${client} SDK where the upstream cannot count, or does not`, async () => {
      const estimate = (await count('via-chat-completions')) ?? 0
      assert.ok(estimate > 5 && estimate < 60, `${estimate} tokens`)
      assert.equal(upstream.seen.length, 0)
      upstream.script = (_request, response) => void response.writeHead(500).end()
      const failed = (await count('via-messages')) ?? 0
      assert.ok(failed > 5 && failed < 60, `${failed} tokens`)
    })
  }

  it('is said to be an estimate where it is one', async () => {
    const contents = [{ role: 'user', parts: [{ text: PROMPT }] }]
    const path = (format: string) => `/v1beta/models/via-${format}:countTokens`
    const estimated = await gateway.post(path('chat-completions'), { contents })
    assert.match(estimated.headers.get('x-gateway-warnings') ?? '', /estimate/)
    const counted = await gateway.post(path('generate-content'), {
      generateContentRequest: { model: 'models/whatever', contents, systemInstruction: { parts: [{ text: SYSTEM }] } },
    })
    assert.equal(counted.headers.get('x-gateway-warnings'), null)
    assert.match(upstream.seen[0]?.text ?? '', /Be brief.*models\/upstream-model|models\/upstream-model.*Be brief/)
  })

  it('is refused in the words of the client’s family when the upstream refuses the request', async () => {
    upstream.script = (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: 'tools: no.' } }))
    }
    await assert.rejects(
      CLIENTS.messages?.('via-messages') ?? Promise.resolve(),
      (error: unknown) => error instanceof Anthropic.BadRequestError && /tools: no/.test(error.message),
    )
    await assert.rejects(CLIENTS.responses?.('via-nothing') ?? Promise.resolve(), /via-nothing/)
  })

  it('costs nothing', async () => {
    const counted = await eventually('a line for each request', () => {
      const lines = gateway.lines('request.completed').filter(line => line.status === 200)
      return lines.length > 12 ? lines : undefined
    })
    assert.deepEqual(
      counted.filter(line => line.cost_usd !== undefined),
      [],
    )
    assert.equal((await gateway.usage()).pagination.total, 0)
  })
})

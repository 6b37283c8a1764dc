import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'

/** Every client SDK against every upstream format: four by four, whole and streamed, words and tool calls. */

const UPSTREAMS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const
const PROVIDERS = {
  'chat-completions': { provider: 'openai', path: '/v1' },
  responses: { provider: 'openai', path: '/v1' },
  messages: { provider: 'anthropic', path: '/v1' },
  'generate-content': { provider: 'google', path: '/v1beta' },
} as const

const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
let gateway: Gateway

function config(url: string): string {
  const channels = UPSTREAMS.map(format => {
    const { provider, path } = PROVIDERS[format]
    return `  - { id: ${format}, provider: ${provider}, base_url: "${url}${path}", api_key: sk-upstream, formats: [${format}] }`
  })
  const models = UPSTREAMS.map(
    format => `  - id: via-${format}
    scene: chat
    context_length: 128000
    max_output_tokens: 4096
    price: { input: "1", output: "2", cache_read: "0.5", per: 1M }
    offers: [{ channel: ${format}, upstream_model: upstream-${format} }]`,
  )
  return `channels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}

const WORDS = 'Grüße aus dem Gateway: 12 < 13, "quoted", and a snowman ☃.'
const ARGUMENTS = { city: 'Zürich', days: 3 }
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
}

/** What any of the SDKs got, in one shape. */
interface Got {
  readonly text: string
  readonly call: { readonly name: string; readonly arguments: unknown } | undefined
  readonly outputTokens: number | undefined
  readonly model: string | undefined
}

interface Client {
  readonly name: string
  whole(model: string, prompt: string): Promise<Got>
  stream(model: string, prompt: string): Promise<Got>
}

function openai(): OpenAI {
  return new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
}

const chatCompletions: Client = {
  name: 'chat-completions',
  whole: async (model, prompt) => {
    const answer = await openai().chat.completions.create(chatRequest(model, prompt))
    return fromCompletion(answer)
  },
  stream: async (model, prompt) => {
    const options = { stream: true as const, stream_options: { include_usage: true } }
    const stream = openai().chat.completions.stream({ ...chatRequest(model, prompt), ...options })
    return fromCompletion(await stream.finalChatCompletion())
  },
}

function chatRequest(model: string, prompt: string): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming {
  const tool = { name: 'get_weather', description: 'The weather', parameters: SCHEMA }
  return {
    model,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: prompt },
    ],
    tools: [{ type: 'function', function: tool }],
    max_completion_tokens: 500,
  }
}

function fromCompletion({ choices, usage, model }: OpenAI.Chat.ChatCompletion): Got {
  const message = choices[0]?.message
  const call = message?.tool_calls?.[0]
  return {
    text: message?.content ?? '',
    call:
      call?.type === 'function'
        ? { name: call.function.name, arguments: JSON.parse(call.function.arguments) }
        : undefined,
    outputTokens: usage?.completion_tokens,
    model,
  }
}

const responses: Client = {
  name: 'responses',
  whole: async (model, prompt) => fromResponse(await openai().responses.create(responseRequest(model, prompt))),
  stream: async (model, prompt) => {
    const stream = openai().responses.stream(responseRequest(model, prompt))
    return fromResponse(await stream.finalResponse())
  },
}

type ResponseRequest = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>

function responseRequest(model: string, prompt: string): ResponseRequest {
  return {
    model,
    instructions: 'Be brief.',
    input: prompt,
    tools: [{ type: 'function', name: 'get_weather', description: 'The weather', parameters: SCHEMA, strict: false }],
    max_output_tokens: 500,
  }
}

function fromResponse({ output, output_text, usage, model }: OpenAI.Responses.Response): Got {
  const call = output.find(item => item.type === 'function_call')
  return {
    text: output_text,
    call: call && { name: call.name, arguments: JSON.parse(call.arguments) },
    outputTokens: usage?.output_tokens,
    model,
  }
}

function anthropic(): Anthropic {
  return new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
}

const messages: Client = {
  name: 'messages',
  whole: async (model, prompt) => fromMessage(await anthropic().messages.create(messageRequest(model, prompt))),
  stream: async (model, prompt) =>
    fromMessage(await anthropic().messages.stream(messageRequest(model, prompt)).finalMessage()),
}

function messageRequest(model: string, prompt: string): Anthropic.MessageCreateParamsNonStreaming {
  return {
    model,
    system: 'Be brief.',
    messages: [{ role: 'user', content: prompt }],
    tools: [{ name: 'get_weather', description: 'The weather', input_schema: SCHEMA as Anthropic.Tool.InputSchema }],
    max_tokens: 500,
  }
}

function fromMessage({ content, usage, model }: Anthropic.Message): Got {
  const call = content.find(block => block.type === 'tool_use')
  return {
    text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
    call: call && { name: call.name, arguments: call.input },
    outputTokens: usage.output_tokens,
    model,
  }
}

function google(): GoogleGenAI {
  return new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
}

const generateContent: Client = {
  name: 'generate-content',
  whole: async (model, prompt) => fromContents([await google().models.generateContent(contentRequest(model, prompt))]),
  stream: async (model, prompt) => {
    const stream = await google().models.generateContentStream(contentRequest(model, prompt))
    const pieces = []
    for await (const piece of stream) pieces.push(piece)
    return fromContents(pieces)
  },
}

type Contents = Awaited<ReturnType<GoogleGenAI['models']['generateContent']>>

function contentRequest(model: string, prompt: string): Parameters<GoogleGenAI['models']['generateContent']>[0] {
  const tool = { name: 'get_weather', description: 'The weather', parametersJsonSchema: SCHEMA }
  return {
    model,
    contents: prompt,
    config: { systemInstruction: 'Be brief.', tools: [{ functionDeclarations: [tool] }], maxOutputTokens: 500 },
  }
}

function fromContents(pieces: readonly Contents[]): Got {
  const parts = pieces.flatMap(piece => piece.candidates?.[0]?.content?.parts ?? [])
  const call = parts.find(part => part.functionCall)?.functionCall
  return {
    text: parts.map(part => part.text ?? '').join(''),
    call: call && { name: call.name ?? '', arguments: call.args },
    outputTokens: pieces.at(-1)?.usageMetadata?.candidatesTokenCount,
    model: pieces.at(-1)?.modelVersion,
  }
}

before(async () => {
  const usage = { prompt_tokens: 21, completion_tokens: 9, total_tokens: 30, input_tokens: 21, output_tokens: 9 }
  mock.addFixture({
    match: { userMessage: 'words' },
    response: { content: WORDS, usage },
    chunkSize: 4,
  })
  mock.addFixture({
    match: { userMessage: 'weather' },
    response: { toolCalls: [{ name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) }], usage },
    chunkSize: 4,
  })
  await mock.start()
  gateway = await Gateway.start({ config: config(mock.url) })
})

after(async () => {
  await gateway?.stop()
  await mock.stop()
})

for (const client of [chatCompletions, messages, responses, generateContent]) {
  describe(`the ${client.name} client`, () => {
    for (const upstream of UPSTREAMS) {
      const model = `via-${upstream}`
      for (const way of ['whole', 'stream'] as const) {
        it(`reads words of ${upstream}, ${way}`, async () => {
          const { text, call, outputTokens, model: told } = await client[way](model, 'Some words, please')
          assert.equal(text, WORDS)
          assert.equal(call, undefined)
          assert.equal(outputTokens, 9)
          // What the upstream did not say is not made up where nothing is translated.
          if (client.name !== upstream) assert.equal(told, model)
        })

        it(`gets a tool call of ${upstream}, ${way}`, async () => {
          const { call } = await client[way](model, 'What is the weather?')
          assert.deepEqual(call, { name: 'get_weather', arguments: ARGUMENTS })
        })
      }
    }
  })
}

describe('what goes wrong', () => {
  it('is told in the words of each SDK’s family', async () => {
    const wrong = { maxRetries: 0 } as const
    const key = `${gateway.apiKey.slice(0, -1)}_`
    await assert.rejects(
      new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: key, ...wrong }).responses.create({
        model: 'm',
        input: 'x',
      }),
      (error: unknown) => error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key',
    )
    await assert.rejects(
      new Anthropic({ baseURL: gateway.baseUrl, apiKey: key, ...wrong }).messages.create(messageRequest('m', 'x')),
      (error: unknown) => error instanceof Anthropic.AuthenticationError && error.type === 'authentication_error',
    )
    await assert.rejects(
      new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.baseUrl } }).models.generateContent(
        contentRequest('m', 'x'),
      ),
      (error: unknown) => error instanceof ApiError && error.status === 401,
    )
  })

  it('names a model that was probably meant, in every family', async () => {
    const model = 'via-mesages'
    await assert.rejects(openai().responses.create(responseRequest(model, 'x')), /via-mesages/)
    await assert.rejects(anthropic().messages.create(messageRequest(model, 'x')), /via-mesages/)
    await assert.rejects(google().models.generateContent(contentRequest(model, 'x')), /via-mesages/)
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

describe('what it all cost', () => {
  it('is the same for every pair of formats', async () => {
    const report = await eventually('all requests in the report', async () => {
      const found = await gateway.usage('?limit=100')
      return found.pagination.total === 68 ? found : undefined
    })
    assert.deepEqual(new Set(report.items.map(item => item.cost_decimal)), new Set(['0.000039']))
  })
})

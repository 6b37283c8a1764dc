import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ChatCompletionRequest, LLMock } from '@copilotkit/aimock'
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  PermissionDeniedError,
} from 'openai'
import type { RunnableToolFunctionWithoutParse } from 'openai/lib/RunnableFunction'
import { commandBeside, createKey, type MintedCredential } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { Tap } from '../support/tap.ts'
import { configFor, UNEJECTING } from '../support/upstream.ts'

type ChatRequest = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming
type Chunk = OpenAI.Chat.ChatCompletionChunk

const SLASHED_MODEL = `
  - id: vendor/test-chat
    scene: chat
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: main, upstream_model: upstream-slashed }]
`
/** How soon after a client's abort the upstream must know: long before it would have said everything. */
const PROMPTLY_MS = 1_000
/** 150 words in three seconds. */
const SLOW_SPEECH = { content: 'word '.repeat(150) }
const SLOW = { chunkSize: 5, streamingProfile: { ttft: 1, tps: 50 } }
/** The SDK wants some key; this one is not sent. */
const MISSING = 'missing'

/** An independent mock of OpenAI's API, and a tap that sees when the gateway drops a connection to it. */
const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
let tap: Tap
let gateway: Gateway
let client: OpenAI
let restricted: MintedCredential
let revoked: MintedCredential

function clientWith(apiKey: string, options: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI {
  return new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0, ...options })
}

function ask(content: string, fields: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'test-chat', messages: [{ role: 'user', content }], ...fields }
}

async function streamed(content: string, fields: Partial<ChatRequest> = {}): Promise<Chunk[]> {
  const stream = await client.chat.completions.create({ ...ask(content, fields), stream: true })
  return collect(stream)
}

async function collect(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

/** The body that the upstream was sent last. */
function lastAsked(): ChatCompletionRequest {
  const body = mock.getLastRequest()?.body
  assert.ok(body && 'messages' in body)
  return body as ChatCompletionRequest
}

function textOf(chunks: readonly Chunk[]): string {
  return chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('')
}

/** What `promise` rejects with, which must be one of the SDK's own errors. */
async function apiErrorOf(promise: Promise<unknown>): Promise<APIError> {
  const error = await promise.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof APIError, String(error))
  return error
}

/** Fields of the error body beyond those that the SDK names. */
function bodyOf(error: APIError): Record<string, unknown> {
  return error.error as Record<string, unknown>
}

function assertRequestId(error: APIError): void {
  assert.match(error.requestID ?? '', /^req_[0-9A-Za-z]{24}$/)
}

before(async () => {
  await mock.start()
  tap = await Tap.start(mock.url)
  gateway = await Gateway.start({ config: configFor(tap.url, SLASHED_MODEL + UNEJECTING) })
  client = clientWith(gateway.apiKey)
  ;[restricted, revoked] = await Promise.all([createKey(gateway, '--models', 'test-embedding'), createKey(gateway)])
  await commandBeside(gateway, 'keys', 'revoke', revoked.id)
})

after(async () => {
  await gateway.stop()
  await tap.stop()
  await mock.stop()
})

describe('a chat completion through the OpenAI SDK', () => {
  it('comes whole, with its usage and under the public model id', async () => {
    mock.onMessage('greet', { content: 'Good day.', usage: { prompt_tokens: 11, completion_tokens: 4 } })
    const { data, request_id: requestId } = await client.chat.completions.create(ask('greet')).withResponse()
    assert.equal(data.model, 'test-chat')
    assert.equal(data.choices[0]?.message.content, 'Good day.')
    assert.equal(data.choices[0]?.finish_reason, 'stop')
    assert.deepEqual(data.usage, { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 })
    assert.match(requestId ?? '', /^req_[0-9A-Za-z]{24}$/)
  })

  it('gives the upstream the whole request, fields that we do not know included', async () => {
    mock.onMessage('faithful', (request: ChatCompletionRequest) => ({ content: JSON.stringify(request) }))
    const messages: ChatRequest['messages'] = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'faithful 😀 \u0000 é' }] },
    ]
    const request = { ...ask(''), messages, temperature: 0.25, seed: 7, x_unknown: { deep: [1, null, 'é'] } }
    const answer = await client.chat.completions.create(request)
    const seen = JSON.parse(answer.choices[0]?.message.content ?? '')
    assert.deepEqual(
      { ...seen, _endpointType: undefined, _context: undefined },
      { ...request, model: 'upstream-model', _endpointType: undefined, _context: undefined },
    )
  })

  it('streams every delta, the finish reason, and no usage that was not asked for', async () => {
    const text = 'A longer answer, in many pieces: é 😀 漢字.'
    mock.onMessage('recite', { content: text }, { chunkSize: 3 })
    const chunks = await streamed('recite')
    assert.equal(textOf(chunks), text)
    assert.ok(chunks.length >= text.length / 3)
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant')
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
    assert.ok(chunks.every(chunk => chunk.model === 'test-chat' && chunk.choices.length === 1 && !chunk.usage))
    assert.equal(new Set(chunks.map(chunk => chunk.id)).size, 1)
  })

  it('streams the usage last when it was asked for', async () => {
    mock.onMessage('count', { content: 'One, two.', usage: { prompt_tokens: 21, completion_tokens: 6 } })
    const chunks = await streamed('count', { stream_options: { include_usage: true } })
    const last = chunks.at(-1)
    assert.deepEqual(last?.choices, [])
    assert.deepEqual(last?.usage, { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 })
    assert.equal(textOf(chunks), 'One, two.')
  })

  it('is put together again by the helper of the SDK', async () => {
    mock.onMessage('assemble', { content: 'Piece by piece.' }, { chunkSize: 2 })
    const stream = client.chat.completions.stream({ ...ask('assemble'), stream: true })
    const final = await stream.finalChatCompletion()
    assert.equal(final.choices[0]?.message.content, 'Piece by piece.')
    assert.equal(final.model, 'test-chat')
  })

  it('is metered once for each answer, whole or streamed', async () => {
    mock.onMessage('meter', { content: 'ok', usage: { prompt_tokens: 1000, completion_tokens: 10 } })
    const whole = await client.chat.completions.create(ask('meter')).withResponse()
    const stream = await client.chat.completions.create({ ...ask('meter'), stream: true }).withResponse()
    await collect(stream.data)
    for (const id of [whole.request_id, stream.request_id]) {
      const items = await eventually('the usage item', async () => {
        const found = (await gateway.usage()).items.filter(item => item.request_id === id)
        return found.length > 0 ? found : undefined
      })
      assert.deepEqual(
        items.map(item => item.cost_decimal),
        ['0.00102'],
      )
    }
  })
})

const weatherTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const
const timeTool = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
} as const

describe('tools through the OpenAI SDK', () => {
  const single = [{ id: 'call_a', name: 'get_weather', arguments: '{"city":"Paris"}' }]
  const parallel = [...single, { id: 'call_b', name: 'get_time', arguments: '{"zone":"CET"}' }]
  const tools = [weatherTool, timeTool]

  before(() => {
    mock.onMessage('one tool', { toolCalls: single }, { chunkSize: 4 })
    mock.onMessage('two tools', { toolCalls: parallel }, { chunkSize: 4 })
  })

  for (const [name, question, calls] of [
    ['a single call', 'one tool', single],
    ['parallel calls', 'two tools', parallel],
  ] as const) {
    const expected = calls.map(({ id, ...call }) => ({ id, type: 'function', function: call }))

    it(`${name} comes whole`, async () => {
      const answer = await client.chat.completions.create(ask(question, { tools }))
      assert.deepEqual(answer.choices[0]?.message.tool_calls, expected)
      assert.equal(answer.choices[0]?.message.content, null)
      assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
      assert.deepEqual(lastAsked().tools, tools)
    })

    it(`${name} comes in fragments`, async () => {
      const stream = client.chat.completions.stream({ ...ask(question, { tools }), stream: true })
      let fragments = 0
      for await (const chunk of stream) fragments += chunk.choices[0]?.delta.tool_calls?.length ?? 0
      assert.ok(fragments > calls.length)
      const { message } = (await stream.finalChatCompletion()).choices[0] ?? assert.fail('no choice')
      const given = message.tool_calls?.map(call => {
        assert.equal(call.type, 'function')
        const { name: called, arguments: text } = (call as OpenAI.Chat.ChatCompletionMessageFunctionToolCall).function
        return { id: call.id, type: call.type, function: { name: called, arguments: text } }
      })
      assert.deepEqual(given, expected)
    })
  }

  for (const isStream of [false, true]) {
    it(`a loop of calls and results ends in words, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const question = `loop ${isStream}`
      mock.on({ userMessage: question, hasToolResult: false }, { toolCalls: single })
      mock.on({ userMessage: question, hasToolResult: true }, ({ messages }: ChatCompletionRequest) => ({
        content: `It is ${JSON.parse(String(messages.at(-1)?.content)).sky} in Paris.`,
      }))
      const asked: string[] = []
      const runnable: RunnableToolFunctionWithoutParse = {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'The weather in a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
          function: (text: string) => {
            asked.push(JSON.parse(text).city)
            return { sky: 'clear' }
          },
        },
      }
      const messages = ask(question).messages
      const body = { model: 'test-chat', messages, tools: [runnable] }
      const runner = isStream
        ? client.chat.completions.runTools({ ...body, stream: true })
        : client.chat.completions.runTools(body)
      assert.equal(await runner.finalContent(), 'It is clear in Paris.')
      assert.deepEqual(asked, ['Paris'])
    })
  }
})

it('an answer of a given JSON schema comes back as it was asked for', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema' as const, json_schema: { name: 'person', strict: true, schema } }
  mock.onMessage('who', { content: { name: 'Ada', age: 36 } })
  const answer = await client.chat.completions.parse(ask('who', { response_format: format }))
  assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ''), { name: 'Ada', age: 36 })
  assert.deepEqual(lastAsked().response_format, format)
})

describe('embeddings through the OpenAI SDK', () => {
  /** Numbers that 32-bit floats hold exactly, so that any encoding must give them back unchanged. */
  const vector = [0.5, -2.25, 3, 0, 1e-3, -0.1].map(Math.fround)

  before(() => {
    mock.onEmbedding('embed me', { embedding: vector })
  })

  it('are the right numbers in the default encoding, which the upstream does not speak', async () => {
    // The SDK asks for base64 and decodes what comes; the mock answers floats whatever is asked.
    const { data, model, usage } = await client.embeddings.create({
      model: 'test-embedding',
      input: ['embed me', 'embed me too'],
    })
    assert.deepEqual(
      data.map(({ index, embedding }) => ({ index, embedding })),
      [
        { index: 0, embedding: vector },
        { index: 1, embedding: vector },
      ],
    )
    assert.equal(model, 'test-embedding')
    assert.equal(typeof usage.prompt_tokens, 'number')
  })

  it('are the right numbers as floats', async () => {
    const { data } = await client.embeddings.create({
      model: 'test-embedding',
      input: 'embed me',
      encoding_format: 'float',
    })
    assert.deepEqual(data[0]?.embedding, vector)
  })

  it('are metered', async () => {
    const { request_id: id } = await client.embeddings
      .create({ model: 'test-embedding', input: 'embed me '.repeat(100) })
      .withResponse()
    const item = await eventually('the usage item', async () =>
      (await gateway.usage()).items.find(each => each.request_id === id),
    )
    assert.equal(item.scene, 'embedding')
    // The mock reports no tokens, so they are estimated: never nothing.
    assert.ok(Number(item.prompt_tokens) > 100)
    assert.notEqual(item.cost_decimal, '0')
  })
})

describe('models through the OpenAI SDK', () => {
  it('are listed', async () => {
    const ids = []
    for await (const { id, object } of client.models.list()) {
      assert.equal(object, 'model')
      ids.push(id)
    }
    assert.deepEqual(ids, ['test-chat', 'test-embedding', 'vendor/test-chat'])
  })

  it('are retrieved one at a time, slashes in their ids or not', async () => {
    for (const id of ['test-chat', 'vendor/test-chat']) assert.equal((await client.models.retrieve(id)).id, id)
  })
})

describe('an abort through the OpenAI SDK closes the connection to the upstream', () => {
  async function closesPromptly(marker: string): Promise<void> {
    const connection = tap.carrying(marker)
    assert.ok(connection, 'the upstream was never asked')
    await eventually('the end of the upstream connection', () => connection.isClosed || undefined, PROMPTLY_MS)
  }

  it('in the middle of a stream', async () => {
    mock.onMessage('abort the stream', SLOW_SPEECH, SLOW)
    const stream = await client.chat.completions.create({ ...ask('abort the stream'), stream: true })
    let chunks = 0
    for await (const _ of stream) {
      chunks += 1
      if (chunks === 3) stream.controller.abort()
    }
    assert.ok(chunks < 20)
    await closesPromptly('abort the stream')
  })

  it('when the client leaves the loop', async () => {
    mock.onMessage('leave the loop', SLOW_SPEECH, SLOW)
    for await (const _ of await client.chat.completions.create({ ...ask('leave the loop'), stream: true })) break
    await closesPromptly('leave the loop')
  })

  for (const isStream of [false, true]) {
    it(`before there is any answer, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const marker = `abort the wait ${isStream}`
      mock.onMessage(marker, { content: 'too late' }, { chaos: { latencyMs: 30_000 } })
      const controller = new AbortController()
      const pending = client.chat.completions.create(
        { ...ask(marker), stream: isStream },
        { signal: controller.signal },
      )
      const failure = apiErrorOf(pending)
      await eventually('the request at the upstream', () => tap.carrying(marker))
      controller.abort()
      assert.ok((await failure) instanceof OpenAI.APIUserAbortError)
      await closesPromptly(marker)
    })
  }
})

describe('a credential that is not good is an AuthenticationError', () => {
  const cases: Readonly<Record<string, { key: () => string; code?: string; says?: RegExp }>> = {
    missing: { key: () => MISSING, says: /No API key was sent/ },
    malformed: { key: () => 'sk-nonsense' },
    'mistyped by one character': {
      key: () => gateway.apiKey.slice(0, -1) + (gateway.apiKey.endsWith('A') ? 'B' : 'A'),
    },
    unknown: { key: () => 'sk-0000000000000000000000000000000000000000000000000' },
    revoked: { key: () => revoked.credential, code: 'expired_api_key', says: /revoked/ },
    'a management token': { key: () => gateway.managementToken, says: /management token/ },
    'a webhook signing secret': { key: () => `whsec_${'a'.repeat(40)}`, says: /signing secret/ },
  }
  for (const [name, { key, code = 'invalid_api_key', says = /./ }] of Object.entries(cases)) {
    it(name, async () => {
      const stranger = clientWith(key(), key() === MISSING ? { defaultHeaders: { Authorization: null } } : {})
      const calls = [
        stranger.chat.completions.create(ask('greet')),
        stranger.chat.completions.create({ ...ask('greet'), stream: true }),
        stranger.embeddings.create({ model: 'test-embedding', input: 'x' }),
        stranger.models.list(),
        stranger.models.retrieve('test-chat'),
      ]
      for (const error of await Promise.all(calls.map(apiErrorOf))) {
        assert.ok(error instanceof AuthenticationError)
        assert.equal(error.status, 401)
        assert.equal(error.type, code)
        assert.equal(error.code, code)
        assert.match(error.message, says)
        assertRequestId(error)
      }
    })
  }
})

describe('a request that is not good is a BadRequestError that names the field', () => {
  const chat: readonly [string, object][] = [
    ['model', { model: undefined }],
    ['model', { model: '' }],
    ['model', { model: 7 }],
    ['messages', { messages: undefined }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'Hi' }],
    ['messages[0].role', { messages: [{ content: 'Hi' }] }],
    [
      'messages[1].content',
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'user', content: 7 },
        ],
      },
    ],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }],
    ['temperature', { temperature: 2.5 }],
    ['top_p', { top_p: -1 }],
    ['n', { n: 0 }],
    ['max_tokens', { max_tokens: '10' }],
    ['max_completion_tokens', { max_completion_tokens: 1.5 }],
    ['stream', { stream: 'yes' }],
    ['stop', { stop: 7 }],
    ['tools', { tools: 'none' }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 7 } }] }],
    ['response_format.type', { response_format: {} }],
  ]
  for (const [param, fields] of chat) {
    it(`${param} in ${JSON.stringify(fields)}`, async () => {
      const error = await apiErrorOf(client.chat.completions.create({ ...ask('greet'), ...fields } as ChatRequest))
      assert.ok(error instanceof BadRequestError)
      assert.equal(error.type, 'invalid_request_error')
      assert.equal(error.param, param)
      assert.ok(error.message.includes(param))
      assertRequestId(error)
    })
  }

  const embeddings: readonly [string, object][] = [
    ['input', { input: undefined }],
    ['input', { input: '' }],
    ['input', { input: [] }],
    ['input', { input: 7 }],
    ['encoding_format', { encoding_format: 'hex' }],
    ['dimensions', { dimensions: 0 }],
  ]
  for (const [param, fields] of embeddings) {
    it(`${param} in ${JSON.stringify(fields)} of an embedding`, async () => {
      const body = { model: 'test-embedding', input: 'x', ...fields } as OpenAI.EmbeddingCreateParams
      const error = await apiErrorOf(client.embeddings.create(body))
      assert.ok(error instanceof BadRequestError)
      assert.equal(error.param, param)
    })
  }

  it('a model of another kind', async () => {
    const chatError = await apiErrorOf(client.chat.completions.create(ask('greet', { model: 'test-embedding' })))
    const embeddingError = await apiErrorOf(client.embeddings.create({ model: 'test-chat', input: 'x' }))
    for (const error of [chatError, embeddingError]) {
      assert.ok(error instanceof BadRequestError)
      assert.equal(error.param, 'model')
    }
  })

  it('a mistyped model, with what was probably meant', async () => {
    for (const call of [
      () => client.chat.completions.create(ask('greet', { model: 'test-chta' })),
      () => client.models.retrieve('test-chta'),
    ]) {
      const error = await apiErrorOf(call())
      assert.ok(error instanceof BadRequestError)
      assert.equal(error.type, 'invalid_request_error')
      assert.equal(error.code, 'model_not_found')
      assert.equal(error.param, 'model')
      const { did_you_mean: meant, suggestions, hint } = bodyOf(error)
      assert.equal(meant, 'test-chat')
      assert.deepEqual(suggestions, [{ id: 'test-chat' }, { id: 'vendor/test-chat' }])
      assert.match(String(hint), /v1\/models/)
    }
  })

  it('a model that nothing resembles, without suggestions', async () => {
    const error = await apiErrorOf(client.chat.completions.create(ask('greet', { model: 'zzzzzzzzzz' })))
    assert.equal(error.code, 'model_not_found')
    assert.ok(!('did_you_mean' in bodyOf(error)))
    assert.ok(!('suggestions' in bodyOf(error)))
  })
})

it('a model that the key may not use is a PermissionDeniedError', async () => {
  const limited = clientWith(restricted.credential)
  const error = await apiErrorOf(limited.chat.completions.create(ask('greet')))
  assert.ok(error instanceof PermissionDeniedError)
  assert.equal(error.status, 403)
  assert.equal(error.type, 'access_denied')
  assert.equal(error.code, 'model_not_allowed')
  assertRequestId(error)
  mock.onEmbedding('allowed', { embedding: [1] })
  const { data } = await limited.embeddings.create({ model: 'test-embedding', input: 'allowed' })
  assert.deepEqual(data[0]?.embedding, [1])
})

it('a body beyond the limit is a 413', async () => {
  const error = await apiErrorOf(client.chat.completions.create(ask('x'.repeat(21 * 1024 * 1024))))
  assert.equal(error.status, 413)
  assert.equal(error.type, 'invalid_request_error')
  assert.equal(error.code, 'payload_too_large')
  assertRequestId(error)
})

describe('a failure of the upstream', () => {
  interface Expected {
    readonly status: number
    readonly type: string
    readonly code?: string
    readonly retryAfter?: string
  }
  const upstreamError: Expected = { status: 502, type: 'upstream_error' }
  const busy: Expected = { status: 503, type: 'all_channels_failed', code: 'all_channels_failed' }
  const timedOut: Expected = { status: 504, type: 'timeout_error' }

  async function assertFails(question: string, { status, type, code = type, retryAfter }: Expected): Promise<void> {
    for (const stream of [false, true]) {
      const error = await apiErrorOf(client.chat.completions.create({ ...ask(question), stream }))
      assert.ok(error instanceof InternalServerError)
      assert.equal(error.status, status)
      assert.equal(error.type, type)
      assert.equal(error.code, code)
      assert.equal(bodyOf(error).retryable, true)
      assert.equal(error.headers?.get('retry-after') ?? undefined, retryAfter)
      assert.equal(bodyOf(error).retry_after, retryAfter === undefined ? undefined : Number(retryAfter))
      assertRequestId(error)
      // What the upstream says of our account is not for the client.
      assert.ok(!error.message.includes('secret detail'))
    }
  }

  const statuses: readonly [number, Expected][] = [
    [500, upstreamError],
    [502, upstreamError],
    // Our own key is refused or our account is empty: never the client's fault.
    [401, upstreamError],
    [403, upstreamError],
    [404, upstreamError],
    [402, { ...busy, retryAfter: '5' }],
    [429, { ...busy, retryAfter: '7' }],
    [503, { ...busy, retryAfter: '5' }],
    [504, timedOut],
  ]
  for (const [status, expected] of statuses) {
    it(`${status} is a ${expected.status} ${expected.type}`, async () => {
      const question = `status ${status}.`
      const error = { message: 'secret detail', type: 'server_error', code: 'x' }
      mock.onMessage(question, { error, status, retryAfter: 7 })
      await assertFails(question, expected)
    })
  }

  it('a dropped request is a 502', async () => {
    mock.onMessage('chaos: drop', { content: 'x' }, { chaos: { dropRate: 1 } })
    await assertFails('chaos: drop', upstreamError)
  })

  it('a rate limit is a 503 that says when to come back', async () => {
    mock.onMessage('chaos: limit', { content: 'x' }, { chaos: { rateLimitRate: 1 } })
    await assertFails('chaos: limit', { ...busy, retryAfter: '1' })
  })

  it('malformed JSON is a 502', async () => {
    mock.onMessage('chaos: malformed', { content: 'x' }, { chaos: { malformedRate: 1 } })
    await assertFails('chaos: malformed', upstreamError)
  })

  it('a disconnect is a 502', async () => {
    mock.onMessage('chaos: disconnect', { content: 'x' }, { chaos: { disconnectRate: 1 } })
    await assertFails('chaos: disconnect', upstreamError)
  })

  it('about the request itself is a BadRequestError with the words of the upstream', async () => {
    const message = 'Bananas are not supported with this model.'
    mock.onMessage('unsupported', { error: { message, type: 'invalid_request_error', param: 'bananas' }, status: 400 })
    const error = await apiErrorOf(client.chat.completions.create(ask('unsupported')))
    assert.ok(error instanceof BadRequestError)
    assert.equal(error.type, 'invalid_request_error')
    assert.ok(error.message.includes(message))
  })

  it('about the length of the input is context_length_exceeded', async () => {
    const code = 'context_length_exceeded'
    mock.onMessage('too long', { error: { message: 'Too long.', type: 'invalid_request_error', code }, status: 400 })
    const error = await apiErrorOf(client.chat.completions.create(ask('too long')))
    assert.ok(error instanceof BadRequestError)
    assert.equal(error.type, code)
  })

  for (const [name, cut] of [
    ['after some chunks', { truncateAfterChunks: 4 }],
    ['after some time', { disconnectAfterMs: 250 }],
  ] as const) {
    it(`in the middle of a stream, ${name}, raises after what came before was delivered`, async () => {
      const text = 'one two three four five six seven eight nine ten'
      mock.onMessage(`cut ${name}`, { content: text }, { chunkSize: 4, streamingProfile: { ttft: 1, tps: 20 }, ...cut })
      const stream = await client.chat.completions.create({ ...ask(`cut ${name}`), stream: true })
      const chunks: Chunk[] = []
      const error = await apiErrorOf(
        (async () => {
          for await (const chunk of stream) chunks.push(chunk)
        })(),
      )
      assert.equal(error.type, 'upstream_error')
      assert.equal(error.code, 'upstream_error')
      assert.equal(bodyOf(error).retryable, true)
      assert.ok(textOf(chunks).length > 0)
      assert.ok(text.startsWith(textOf(chunks)))
      assert.ok(textOf(chunks).length < text.length)
    })
  }
})

describe('the retries that the SDK makes by itself', () => {
  it('recover from a single failure of the upstream', async () => {
    const patient = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey })
    const failures = [
      { status: 500, error: { message: 'once', type: 'server_error' } },
      { status: 429, error: { message: 'once', type: 'requests' }, retryAfter: 1 },
    ]
    const recover = async (failure: (typeof failures)[number]) => {
      const question = `recover from ${failure.status}.`
      mock.on({ userMessage: question, sequenceIndex: 0 }, failure)
      mock.on({ userMessage: question, sequenceIndex: 1 }, { content: 'recovered' })
      const answer = await patient.chat.completions.create(ask(question))
      assert.equal(answer.choices[0]?.message.content, 'recovered')
    }
    await Promise.all(failures.map(recover))
  })

  it('are not made for what would fail again', async () => {
    const patient = clientWith(gateway.apiKey, { maxRetries: 2, defaultHeaders: { 'x-request-id': 'patient' } })
    await apiErrorOf(patient.chat.completions.create(ask('greet', { model: 'no-such-model' })))
    await apiErrorOf(patient.chat.completions.create(ask('greet', { temperature: 9 })))
    const { request_id: last } = await client.models.list().withResponse()
    // Lines are written in order, so that with this one all before it are there.
    await eventually('the last log line', () =>
      gateway.lines('request.completed').find(line => line.request_id === last),
    )
    const lines = gateway.lines('request.completed').filter(line => line.client_request_id === 'patient')
    assert.equal(lines.length, 2)
  })
})

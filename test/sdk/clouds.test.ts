import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import { CLIENTS } from '../matrix/clients/index.ts'
import { type Conversation, FORMATS } from '../matrix/conversation.ts'
import { Exchange } from '../matrix/exchange.ts'
import { chunkMessage, eventMessage } from '../support/aws-event-stream.ts'
import { AWS, AZURE, CloudDoor, type DoorRequest, GOOGLE, leadTo } from '../support/cloud-door.ts'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { messagesVendor, playVendors, THOUGHT, WORDS } from '../support/thinking-vendors.ts'

/**
 * The models of three clouds, played by an independent mock behind a door that checks every credential. Claude as
 * Vertex AI hosts it, which the mock does not play, and Claude that seals its thoughts are played by ours.
 */

const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
let door: CloudDoor
let gateway: Gateway

const USAGE = { input_tokens: 11, output_tokens: 7, prompt_tokens: 11, completion_tokens: 7 }
const CLAUDE_ON_BEDROCK = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const PROFILE =
  'arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** What is offered under which name: the channel, what it calls the model, and how the models there are asked. */
const OFFERS = {
  'azure-v1': { channel: 'azure', upstream: 'my-deployment', path: /^\/openai\/v1\/(chat\/completions|responses)$/ },
  'azure-dated': {
    channel: 'azure-dated',
    upstream: 'my-deployment',
    path: /^\/openai\/deployments\/my-deployment\/chat\/completions\?api-version=2024-10-21$/,
  },
  'azure-entra': { channel: 'azure-entra', upstream: 'my-deployment', path: /^\/openai\/v1\// },
  'bedrock-claude': {
    channel: 'bedrock',
    upstream: CLAUDE_ON_BEDROCK,
    path: /^\/model\/eu\.anthropic\.claude-sonnet-4-5-20250929-v1%3A0\/invoke(-with-response-stream)?$/,
  },
  'bedrock-profile': {
    channel: 'bedrock',
    upstream: PROFILE,
    path: /^\/model\/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu\.anthropic[^/]*\/invoke/,
  },
  'bedrock-open': {
    channel: 'bedrock-key',
    upstream: 'openai.gpt-oss-120b-1:0',
    path: /^\/openai\/v1\/chat\/completions$/,
  },
  'vertex-gemini': {
    channel: 'vertex',
    upstream: 'gemini-2.5-pro',
    path: /^\/v1\/projects\/project-1\/locations\/europe-west4\/publishers\/google\/models\/gemini-2\.5-pro:/,
  },
} as const

const MODELS = Object.keys(OFFERS) as (keyof typeof OFFERS)[]
const CLAUDE_ON_VERTEX = 'claude-sonnet-4-5@20250929'

function channels(url: string): string {
  return `
  - { id: azure, provider: azure-openai, base_url: "${url}", api_key: ${AZURE.key} }
  - { id: azure-dated, provider: azure-openai, base_url: "${url}", api_key: ${AZURE.key}, api_version: 2024-10-21 }
  - id: azure-entra
    provider: azure-openai
    base_url: "${url}"
    entra: { authority: "${url}", tenant_id: ${AZURE.tenant}, client_id: ${AZURE.client}, client_secret: ${AZURE.secret} }
  - id: bedrock
    provider: bedrock
    base_url: "${url}"
    aws: { region: ${AWS.region}, access_key_id: ${AWS.keyId}, secret_access_key: ${AWS.secret} }
  - { id: bedrock-key, provider: bedrock, base_url: "${url}", api_key: ${AWS.apiKey}, aws: { region: ${AWS.region} } }
  - { id: bedrock-betas, provider: bedrock, base_url: "${url}", api_key: ${AWS.apiKey}, aws: { region: ${AWS.region} }, betas: [two-2025-01-01] }
  - { id: bedrock-chain, provider: bedrock, base_url: "${url}", aws: { region: ${AWS.region} } }
  - id: vertex
    provider: vertex
    base_url: "${url}"
    project: ${GOOGLE.project}
    location: europe-west4
    service_account: { json: '\${SERVICE_ACCOUNT}' }
  - { id: vertex-metadata, provider: vertex, base_url: "${url}", project: ${GOOGLE.project}, service_account: { metadata_url: "${url}" } }
  - { id: vertex-express, provider: vertex, base_url: "${url}", api_key: express-key }`
}

function model(id: string, offers: readonly (readonly [channel: string, upstream: string])[]): string {
  return `
  - id: ${id}
    scene: chat
    context_length: 128000
    max_output_tokens: 32000
    price: { input: "1", output: "2", per: 1M }
    offers: [${offers.map(([channel, upstream]) => `{ channel: ${channel}, upstream_model: "${upstream}" }`).join(', ')}]`
}

function config(url: string): string {
  return `channels:${channels(url)}
models:${MODELS.map(id => model(id, [[OFFERS[id].channel, OFFERS[id].upstream]])).join('')}
${model('vertex-claude', [['vertex', CLAUDE_ON_VERTEX]])}
${model('vertex-on-google', [['vertex-metadata', 'gemini-2.5-pro']])}
${model('vertex-express', [['vertex-express', 'gemini-2.5-pro']])}
${model('vertex-open', [['vertex', 'meta/llama-4']])}
${model('bedrock-betas', [['bedrock-betas', CLAUDE_ON_BEDROCK]])}
${model('bedrock-default', [['bedrock-chain', CLAUDE_ON_BEDROCK]])}
${model('two-ways', [
  ['vertex', 'gemini-2.5-pro'],
  ['azure', 'my-deployment'],
])}
  - id: azure-embedding
    scene: embedding
    price: { input: "0.1", per: 1M }
    offers: [{ channel: azure, upstream_model: my-embedding }]
`
}

const CONVERSATION: Conversation = {
  system: 'Be brief.',
  turns: [{ by: 'user', text: 'Say words.' }],
  maxTokens: 100,
}
const CALLING: Conversation = {
  ...CONVERSATION,
  turns: [{ by: 'user', text: 'Look at the weather.' }],
  tools: [
    {
      name: 'get_weather',
      description: 'Weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
}

function ask(id: string, conversation: Conversation, format: (typeof FORMATS)[number], way: 'whole' | 'stream') {
  const { baseUrl, apiKey } = gateway
  return CLIENTS[format].ask(way, { baseUrl, apiKey, model: id, conversation, exchange: new Exchange() })
}

function anthropic(): Anthropic {
  return new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
}

before(async () => {
  mock.addFixture({ match: { userMessage: 'Say words' }, response: { content: 'Some words, größer.', usage: USAGE } })
  mock.addFixture({
    match: { userMessage: 'weather' },
    response: { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Bern"}' }], usage: USAGE },
  })
  mock.onEmbedding('vector', { embedding: [0.5, -0.25] })
  await mock.start()
  door = await CloudDoor.open(leadTo(mock.url))
  gateway = await Gateway.start({
    config: config(door.url),
    environment: {
      SERVICE_ACCOUNT: door.serviceAccount,
      AWS_ACCESS_KEY_ID: AWS.keyId,
      AWS_SECRET_ACCESS_KEY: AWS.secret,
    },
  })
})

after(async () => {
  await gateway?.stop()
  await door?.close()
  await mock.stop()
})

for (const id of MODELS) {
  describe(`${id}`, () => {
    for (const format of FORMATS) {
      for (const way of ['whole', 'stream'] as const) {
        it(`answers the ${format} SDK, ${way}, with words and with calls of tools, and is metered`, async () => {
          const { total } = (await gateway.usage()).pagination
          const words = await ask(id, CONVERSATION, format, way)
          assert.equal(words.text, 'Some words, größer.')
          // The mock's Gemini names no model, and nothing is added to what passes through.
          assert.equal(words.model, id === 'vertex-gemini' && format === 'generate-content' ? '' : id)
          assert.match(door.seen.at(-1)?.path ?? '', OFFERS[id].path)
          const called = await ask(id, CALLING, format, way)
          assert.deepEqual(
            called.calls.map(({ name, arguments: given }) => [name, given]),
            [['get_weather', { city: 'Bern' }]],
          )
          const [row] = await eventually('both usage rows', async () => {
            const { items, pagination } = await gateway.usage('?limit=1')
            return pagination.total === total + 2 ? items : undefined
          })
          assert.equal(row?.model, id)
          assert.deepEqual([row?.prompt_tokens, row?.completion_tokens], [11, 7])
        })
      }
    }
  })
}

/** Claude as both clouds host it, thinking: refuses a conversation whose seals are not the ones that it gave. */
const claude = playVendors([{ ...messagesVendor, path: /\/invoke|awPredict$/ }])

function answerAsClaude(request: DoorRequest, response: Parameters<CloudDoor['inside']>[1]): void {
  const body = JSON.parse(request.body.toString())
  assert.equal('model' in body, false)
  const isBedrock = request.path.startsWith('/model/')
  assert.equal(body.anthropic_version, isBedrock ? 'bedrock-2023-05-31' : 'vertex-2023-10-16')
  const seen = {
    path: request.path,
    headers: request.headers,
    text: String(request.body),
    body,
    closed: Promise.resolve(),
  }
  void claude(seen, isBedrock ? inEventStream(response) : response, response.socket as never)
}

/** A response that is written server-sent events, and sends messages of an AWS event stream if it is a stream. */
function inEventStream(response: Parameters<CloudDoor['inside']>[1]): typeof response {
  return Object.assign(Object.create(response), {
    setHeader: (name: string, value: string) =>
      response.setHeader(name, value === 'text/event-stream' ? 'application/vnd.amazon.eventstream' : value),
    writeHead: response.writeHead.bind(response),
    write: (frame: string) => response.write(chunkMessage(JSON.parse(frame.split('data: ')[1] ?? ''))),
    end: response.end.bind(response),
  })
}

describe('Claude that thinks', () => {
  before(() => {
    door.inside = answerAsClaude
  })
  after(() => {
    door.inside = leadTo(mock.url)
  })

  const weather: Anthropic.Tool = { name: 'get_weather', input_schema: { type: 'object' } }
  for (const id of ['bedrock-claude', 'vertex-claude']) {
    for (const way of ['whole', 'stream'] as const) {
      it(`gets its seals back byte for byte in a tool loop of Anthropic's SDK, as ${id}, ${way}`, async () => {
        const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is the weather in both?' }]
        const request = { model: id, messages, max_tokens: 4000, tools: [weather] }
        const thinking = { type: 'enabled', budget_tokens: 2000 } as const
        const say = () =>
          way === 'whole'
            ? anthropic().messages.create({ ...request, thinking })
            : anthropic()
                .messages.stream({ ...request, thinking })
                .finalMessage()
        const turn = await say()
        const [thought] = turn.content
        assert.ok(thought?.type === 'thinking')
        assert.equal(thought.thinking, THOUGHT)
        assert.equal(thought.signature, messagesVendor.seals[0])
        const results = turn.content.flatMap(block =>
          block.type === 'tool_use' ? { type: 'tool_result' as const, tool_use_id: block.id, content: 'Rain' } : [],
        )
        assert.equal(results.length, 2)
        messages.push({ role: 'assistant', content: turn.content }, { role: 'user', content: results })
        const last = await say()
        assert.deepEqual(last.content, [{ type: 'text', text: WORDS }])
        const sent = JSON.parse(door.seen.at(-1)?.body.toString() ?? '')
        assert.deepEqual(sent.messages[1].content, turn.content)
      })
    }
  }

  it('is told which trials a client takes part in, where each cloud wants it', async () => {
    const trials = (id: string) =>
      anthropic().messages.create(
        { model: id, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
        { headers: { 'anthropic-beta': 'one-2025-01-01,two-2025-01-01' } },
      )
    await trials('bedrock-claude')
    const onBedrock = door.seen.at(-1)
    assert.deepEqual(JSON.parse(String(onBedrock?.body)).anthropic_beta, ['one-2025-01-01', 'two-2025-01-01'])
    assert.equal(onBedrock?.headers['anthropic-beta'], undefined)
    await trials('vertex-claude')
    const onVertex = door.seen.at(-1)
    assert.equal(onVertex?.headers['anthropic-beta'], 'one-2025-01-01,two-2025-01-01')
    assert.ok(onVertex?.path.endsWith('/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict'))
  })

  it('is not told of trials that the operator has not named, and the client hears of that', async () => {
    const request = { model: 'bedrock-betas', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one-2025-01-01,two-2025-01-01' }
    const response = await gateway.post('/v1/messages', request, { headers })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('x-gateway-warnings') ?? '', /the trial one-2025-01-01 is not offered/)
    assert.deepEqual(JSON.parse(String(door.seen.at(-1)?.body)).anthropic_beta, ['two-2025-01-01'])
  })
})

describe('a token', () => {
  it('is fetched once for many requests at a time', async () => {
    const before = door.tokenRequests
    await Promise.all(
      Array.from({ length: 8 }, () => ask('vertex-on-google', CONVERSATION, 'chat-completions', 'whole')),
    )
    assert.equal(door.tokenRequests, before + 1)
  })

  it('that cannot be had lets the next channel answer, and the log says why without any secret', async () => {
    door.tokenRefusal = { status: 400, body: { error: 'invalid_grant', error_description: 'Account not found.' } }
    await reload()
    const answer = await ask('two-ways', CONVERSATION, 'chat-completions', 'whole')
    assert.equal(answer.text, 'Some words, größer.')
    const line = await eventually('the log line', () => gateway.lines('credential.failed').at(-1))
    assert.equal(line.channel, 'vertex')
    assert.match(String(line.cause), /\/google\/token answered 400 and no token: invalid_grant: Account not found\./)
    const alone = ask('vertex-gemini', CONVERSATION, 'chat-completions', 'whole')
    await assert.rejects(alone, (error: unknown) => error instanceof OpenAI.APIError && error.status === 502)
    door.tokenRefusal = undefined
    assert.equal((await ask('vertex-gemini', CONVERSATION, 'chat-completions', 'whole')).text, 'Some words, größer.')
  })

  it('or a key or a signature is in no line of the log', () => {
    const log = JSON.stringify(gateway.log)
    for (const secret of [AZURE.key, AZURE.secret, AWS.secret, AWS.apiKey, 'PRIVATE KEY', 'AWS4-HMAC', 'Bearer tok']) {
      assert.ok(!log.includes(secret), secret)
    }
  })
})

/** A configuration read anew knows no tokens. */
async function reload(): Promise<void> {
  const reloads = gateway.lines('config.reloaded').length
  await gateway.writeConfig(config(door.url))
  await eventually('the reload', () => gateway.lines('config.reloaded').length > reloads || undefined)
}

describe('what else clouds offer', () => {
  it('are the credentials that AWS’s own tools would find', async () => {
    assert.equal((await ask('bedrock-default', CONVERSATION, 'messages', 'stream')).text, 'Some words, größer.')
  })

  it('are Gemini by a key of express mode, without a project', async () => {
    door.inside = (_request, response) =>
      void response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          candidates: [{ content: { role: 'model', parts: [{ text: 'Express.' }] }, finishReason: 'STOP', index: 0 }],
          usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
        }),
      )
    assert.equal((await ask('vertex-express', CONVERSATION, 'generate-content', 'whole')).text, 'Express.')
    assert.equal(door.seen.at(-1)?.path, '/v1/publishers/google/models/gemini-2.5-pro:generateContent')
    door.inside = leadTo(mock.url)
  })

  it('are models of other publishers on Vertex AI, in OpenAI’s format', async () => {
    door.inside = (request, response) => leadTo(mock.url)({ ...request, path: '/v1/chat/completions' }, response)
    assert.equal((await ask('vertex-open', CONVERSATION, 'messages', 'stream')).text, 'Some words, größer.')
    const asked = door.seen.at(-1)
    assert.equal(asked?.path, '/v1/projects/project-1/locations/europe-west4/endpoints/openapi/chat/completions')
    assert.equal(JSON.parse(String(asked?.body)).model, 'meta/llama-4')
    door.inside = leadTo(mock.url)
  })

  it('are embeddings on Azure', async () => {
    const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
    const { data } = await client.embeddings.create({ model: 'azure-embedding', input: 'vector' })
    assert.deepEqual(data[0]?.embedding, [0.5, -0.25])
    assert.equal(door.seen.at(-1)?.path, '/openai/v1/embeddings')
  })

  it('are counts of tokens on Vertex AI, of Gemini and of Claude', async () => {
    door.inside = ({ path }, response) =>
      void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(path.endsWith(':countTokens') ? { totalTokens: 42 } : { input_tokens: 43 }))
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'How long?' }]
    const count = async (model: string) => (await anthropic().messages.countTokens({ model, messages })).input_tokens
    assert.equal(await count('vertex-gemini'), 42)
    const gemini = JSON.parse(String(door.seen.at(-1)?.body))
    assert.deepEqual(Object.keys(gemini), ['contents'])
    assert.equal(await count('vertex-claude'), 43)
    const counted = door.seen.at(-1)
    assert.ok(counted?.path.endsWith('/publishers/anthropic/models/count-tokens:rawPredict'))
    assert.deepEqual(JSON.parse(String(counted?.body)), {
      model: CLAUDE_ON_VERTEX,
      messages,
      anthropic_version: 'vertex-2023-10-16',
    })
    door.inside = leadTo(mock.url)
  })

  it('are annotations of Azure’s content filter, which reach the client with the chunks that carry them', async () => {
    const filter = { hate: { filtered: false, severity: 'safe' } }
    const chunks = [
      { choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: filter }], id: '', model: '' },
      {
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
        id: 'c',
        model: 'gpt',
      },
      {
        choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: null, content_filter_results: filter }],
        id: 'c',
        model: 'gpt',
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', content_filter_results: {} }], id: 'c', model: 'gpt' },
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }, id: 'c', model: 'gpt' },
    ]
    door.inside = (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      const events = chunks.map(chunk => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...chunk })}\n\n`)
      response.end(`${events.join('')}data: [DONE]\n\n`)
    }
    const request = { model: 'azure-v1', messages: [{ role: 'user', content: 'Hi' }], stream: true }
    const text = await (await gateway.post('/v1/chat/completions', request)).text()
    assert.equal(text.match(/"severity":"safe"/g)?.length, 2)
    assert.match(text, /"prompt_filter_results"/)
    for (const format of ['chat-completions', 'messages', 'generate-content'] as const) {
      assert.equal((await ask('azure-v1', CONVERSATION, format, 'stream')).text, 'Hi.')
    }
    door.inside = leadTo(mock.url)
  })
})

describe('a stream from Bedrock', () => {
  const started = {
    type: 'message_start',
    message: { ...messagesVendor.answer(false), content: [], stop_reason: null },
  }
  const opened = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const said = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half an' } }
  const throttled = eventMessage(
    { 'message-type': 'exception', 'exception-type': 'throttlingException' },
    { message: 'Slow.' },
  )

  const streaming = (...messages: Uint8Array[]) => {
    door.inside = ({ path: asked, ...request }, response) => {
      if (!asked.startsWith('/model/')) return leadTo(mock.url)({ path: asked, ...request }, response)
      response.setHeader('content-type', 'application/vnd.amazon.eventstream')
      for (const message of messages) response.write(message)
      response.end()
    }
  }
  after(() => {
    door.inside = leadTo(mock.url)
  })

  it('that breaks with an exception after words is an error in the client’s stream, and is recorded as cut', async () => {
    streaming(...[started, opened, said].map(chunkMessage), throttled)
    const request = { model: 'bedrock-claude', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const stream = anthropic().messages.stream(request)
    const words: string[] = []
    stream.on('text', text => words.push(text))
    await assert.rejects(stream.finalMessage(), /No provider can take this request at the moment/)
    assert.deepEqual(words, ['Half an'])
    const line = await eventually('the log line', () =>
      gateway
        .lines('request.completed')
        .findLast(({ model: id, outcome }) => id === 'bedrock-claude' && outcome === 'cut'),
    )
    assert.ok(Number(line.completion_tokens) > 0)
    assert.equal(line.cost_usd, '0')
  })

  it('that ends inside a message is not taken for whole', async () => {
    const half = chunkMessage(said)
    streaming(...[started, opened].map(chunkMessage), half.subarray(0, half.length - 5))
    await assert.rejects(ask('bedrock-claude', CONVERSATION, 'chat-completions', 'stream'))
  })

  it('that begins with an exception has begun nothing: the client is told so, with its status', async () => {
    streaming(throttled)
    await assert.rejects(
      ask('bedrock-claude', CONVERSATION, 'chat-completions', 'stream'),
      (error: unknown) => error instanceof OpenAI.APIError && error.status === 503,
    )
  })
})

describe('the refusals of clouds', () => {
  after(() => {
    door.inside = leadTo(mock.url)
  })

  const refusing = (status: number, body: unknown) => {
    door.inside = (_request, response) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  it('of a request are told in their words', async () => {
    refusing(400, { message: 'messages: roles must alternate' })
    await assert.rejects(ask('bedrock-claude', CONVERSATION, 'messages', 'whole'), /roles must alternate/)
    await assert.rejects(ask('bedrock-claude', CONVERSATION, 'chat-completions', 'stream'), /roles must alternate/)
    refusing(400, [{ error: { code: 400, message: 'Invalid value at contents', status: 'INVALID_ARGUMENT' } }])
    await assert.rejects(ask('vertex-claude', CONVERSATION, 'messages', 'stream'), /Invalid value at contents/)
  })

  it('of our account are not, and send the request to the next channel', async () => {
    const refusals: [string, number, unknown][] = [
      ['bedrock-claude', 429, { message: 'Too many requests, account 123456789012.' }],
      ['bedrock-claude', 403, { message: 'The security token included in the request is expired' }],
      ['vertex-gemini', 429, { error: { code: 429, message: 'Quota of project-1', status: 'RESOURCE_EXHAUSTED' } }],
      ['vertex-claude', 403, { error: { code: 403, message: 'project-1 has no access', status: 'PERMISSION_DENIED' } }],
    ]
    for (const [id, status, body] of refusals) {
      refusing(status, body)
      await assert.rejects(ask(id, CONVERSATION, 'messages', 'whole'), (error: unknown) => {
        assert.ok(error instanceof Anthropic.APIError)
        assert.equal(error.status, status === 429 ? 529 : 500)
        assert.doesNotMatch(error.message, /123456789012|project-1|token/)
        return true
      })
    }
    door.inside = ({ path, ...request }, response) =>
      path.startsWith('/v1/')
        ? void response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"code":429}}')
        : leadTo(mock.url)({ path, ...request }, response)
    assert.equal((await ask('two-ways', CONVERSATION, 'messages', 'stream')).text, 'Some words, größer.')
  })
})

describe('tollgate doctor', () => {
  it('says of each cloud whether it answers, or that it has a credential and nothing to ask for free', async () => {
    const file = path.join(gateway.dataFolder, 'doctor.yaml')
    await writeFile(file, config(door.url))
    door.inside = (_request, response) => void response.end('{"data":[]}')
    const environment = {
      TOLLGATE_CONFIG: file,
      TOLLGATE_DATA: gateway.dataFolder,
      DATABASE_URL: gateway.database?.url ?? '',
      SERVICE_ACCOUNT: door.serviceAccount,
      AWS_ACCESS_KEY_ID: AWS.keyId,
      AWS_SECRET_ACCESS_KEY: AWS.secret,
    }
    const healthy = await runCommand(['doctor'], environment)
    assert.equal(healthy.code, 0, healthy.output)
    assert.match(healthy.output, /channel azure-entra\s+ok\s+http:\S+ answers/)
    assert.match(healthy.output, /channel vertex\s+ok\s+has a credential; asking http:\S+ is not free/)
    assert.match(healthy.output, /channel bedrock-chain\s+ok\s+has a credential/)
    door.tokenRefusal = { status: 401, body: { error: 'invalid_client' } }
    const { code, output } = await runCommand(['doctor'], environment)
    door.tokenRefusal = undefined
    assert.equal(code, 1)
    assert.match(output, /channel vertex\s+fail\s+no credential: \S+ answered 401 and no token: invalid_client/)
    door.inside = leadTo(mock.url)
  })
})

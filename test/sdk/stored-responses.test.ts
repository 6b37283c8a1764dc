import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import pg from 'pg'
import { commandBeside, createKey } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, completion, event, ScriptedUpstream, type SeenRequest } from '../support/upstream.ts'

/**
 * Conversations that live at the gateway, driven by the `openai` SDK. One upstream speaks responses and keeps nothing,
 * one speaks chat completions: what each was really sent is what counts.
 */

const SEALED = 'reasoning.encrypted_content'

let native: ScriptedUpstream
let chat: ScriptedUpstream
let gateway: Gateway
let client: OpenAI
let stranger: OpenAI

function config(): string {
  const model = (id: string, channel: string, capabilities = '[]') => `
  - id: ${id}
    scene: chat
    capabilities: ${capabilities}
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: ${channel}, upstream_model: upstream-model }]`
  return `
channels:
  - { id: native, provider: openai, base_url: "${native.url}/v1", api_key: sk-upstream, formats: [responses] }
  - { id: chat, provider: openai, base_url: "${chat.url}/v1", api_key: sk-upstream }
models:${model('native', 'native')}${model('thinker', 'native', '[reasoning]')}${model('chat', 'chat')}
`
}

type Output = Record<string, unknown>[]

const message = (id: string, text: string) => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

const functionCall = (id: string) => ({
  id,
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'get_weather',
  arguments: '{"city":"Zürich"}',
})

let answers = 0

/** Answers as OpenAI does when it is told to store nothing, with ids of its own. */
function answerNatively(outputOf: (turn: number) => Output) {
  return ({ body }: SeenRequest, response: Parameters<ScriptedUpstream['script']>[1]) => {
    answers += 1
    const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 }
    const head = {
      id: `resp_upstream_${answers}`,
      object: 'response',
      created_at: 1_700_000_000,
      model: 'upstream-model',
    }
    const whole = {
      ...head,
      status: 'completed',
      store: false,
      previous_response_id: null,
      output: outputOf(answers),
      usage,
    }
    if (body.stream !== true) {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify(whole))
    }
    response.setHeader('content-type', 'text/event-stream')
    const events: [string, object][] = [
      ['response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } }],
      ...whole.output.flatMap((item, output_index): [string, object][] => [
        ['response.output_item.added', { output_index, item: { ...item, content: [], status: 'in_progress' } }],
        ['response.output_item.done', { output_index, item }],
      ]),
      ['response.completed', { response: whole }],
    ]
    for (const [index, [type, fields]] of events.entries()) {
      response.write(`event: ${type}\n${event({ type, sequence_number: index, ...fields })}`)
    }
    response.end()
  }
}

const words = answerNatively(turn => [message(`msg_upstream_${turn}`, `Answer ${turn}`)])

function last(upstream: ScriptedUpstream): Record<string, unknown> {
  return upstream.seen.at(-1)?.body ?? {}
}

const inputOf = (upstream: ScriptedUpstream) => last(upstream).input as Record<string, unknown>[]

/** Roles and texts of what an upstream of responses was sent. */
function said(upstream: ScriptedUpstream): unknown[][] {
  return inputOf(upstream).map(({ type, role, content, call_id }) => {
    if (type !== undefined && type !== 'message') return [type, call_id]
    return [role, Array.isArray(content) ? content.map(part => part.text).join('') : content]
  })
}

type Ask = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>

const ways = {
  whole: (request: Ask) => client.responses.create(request),
  streamed: (request: Ask) => client.responses.stream(request).finalResponse(),
}

const refusedWith = (status: number, code: string | null, param?: string) => (error: unknown) => {
  assert.ok(error instanceof OpenAI.APIError, String(error))
  assert.deepEqual([error.status, error.code ?? null], [status, code], error.message)
  if (param !== undefined) assert.equal(error.param, param)
  return true
}

const notFound = refusedWith(404, 'not_found')
const previousNotFound = refusedWith(400, 'previous_response_not_found', 'previous_response_id')

async function query(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const database = new pg.Client({ connectionString: gateway.database?.url ?? '' })
  await database.connect()
  try {
    return await database.query(text, values)
  } finally {
    await database.end()
  }
}

async function rows(): Promise<number> {
  return Number((await query('select count(*) as count from stored_responses')).rows[0].count)
}

before(async () => {
  native = await ScriptedUpstream.start(words)
  chat = await ScriptedUpstream.start(answerWhole())
  gateway = await Gateway.start({ config: config() })
  client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
  await commandBeside(gateway, 'orgs', 'create', 'strangers')
  const { credential } = await createKey(gateway, '--org', 'strangers')
  stranger = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: credential, maxRetries: 0 })
})

after(async () => {
  await gateway?.stop()
  await native?.stop()
  await chat?.stop()
})

for (const [way, ask] of Object.entries(ways)) {
  describe(`a conversation, ${way}`, () => {
    it('goes on over three turns with an upstream that keeps nothing', async () => {
      native.script = words
      const first = await ask({ model: 'native', input: 'One', instructions: 'Be brief.' })
      assert.deepEqual([first.previous_response_id, (first as { store?: unknown }).store], [null, true])
      assert.match(first.id, /^resp_[0-9A-Za-z]{24}$/)
      const second = await ask({ model: 'native', input: 'Two', previous_response_id: first.id })
      const input = [{ role: 'user' as const, content: 'Three' }]
      const third = await ask({ model: 'native', input, previous_response_id: second.id })
      assert.equal(third.previous_response_id, second.id)
      assert.deepEqual(said(native), [
        ['user', 'One'],
        ['assistant', first.output_text],
        ['user', 'Two'],
        ['assistant', second.output_text],
        ['user', 'Three'],
      ])
      const { store, previous_response_id, instructions } = last(native)
      assert.deepEqual([store, previous_response_id, instructions], [false, undefined, undefined])
      for (const item of inputOf(native)) assert.ok(!('id' in item), JSON.stringify(item))
    })

    it('goes on over three turns across formats, and from one to the other', async () => {
      native.script = words
      const first = await ask({ model: 'chat', input: 'One' })
      const second = await ask({ model: 'native', input: 'Two', previous_response_id: first.id })
      const third = await ask({ model: 'chat', input: 'Three', previous_response_id: second.id })
      assert.deepEqual(last(chat).messages, [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: 'Two' },
        { role: 'assistant', content: second.output_text },
        { role: 'user', content: 'Three' },
      ])
      assert.ok(!('store' in last(chat)))
      assert.equal(third.output_text, 'Hello')
      assert.equal(third.previous_response_id, second.id)
      const ids = [first, second, third].flatMap(({ id, output }) => [id, ...output.map(item => item.id)])
      assert.equal(new Set(ids).size, ids.length)
    })

    it('brings the result of a call to the call', async () => {
      const output = { type: 'function_call_output' as const, call_id: 'call_1', output: 'Sunny' }
      native.script = answerNatively(turn => [functionCall(`fc_upstream_${turn}`)])
      const call = await ask({ model: 'native', input: 'The weather?' })
      native.script = words
      await ask({ model: 'native', input: [output], previous_response_id: call.id })
      assert.deepEqual(said(native), [
        ['user', 'The weather?'],
        ['function_call', 'call_1'],
        ['function_call_output', 'call_1'],
      ])
      await ask({ model: 'chat', input: [output], previous_response_id: call.id })
      const messages = last(chat).messages as Record<string, unknown>[]
      assert.deepEqual(
        messages.map(({ role }) => role),
        ['user', 'assistant', 'tool'],
      )
      assert.deepEqual(messages[2], { role: 'tool', tool_call_id: 'call_1', content: 'Sunny' })
    })

    it('finds the items that it names', async () => {
      native.script = answerNatively(turn => [
        { id: `rs_upstream_${turn}`, type: 'reasoning', summary: [], encrypted_content: 'sealed' },
        functionCall(`fc_upstream_${turn}`),
      ])
      const { output } = await ask({ model: 'native', input: 'The weather?' })
      native.script = words
      const references = output.map(({ id = '' }) => ({ type: 'item_reference' as const, id }))
      const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'Sunny' }
      const question = { role: 'user' as const, content: 'The weather?' }
      const answer = await ask({ model: 'native', input: [question, ...references, result] })
      assert.deepEqual(said(native), [
        ['user', 'The weather?'],
        ['reasoning', undefined],
        ['function_call', 'call_1'],
        ['function_call_output', 'call_1'],
      ])
      assert.equal(inputOf(native)[1]?.encrypted_content, 'sealed')
      for (const item of inputOf(native)) assert.ok(!('id' in item), JSON.stringify(item))
      await ask({ model: 'native', input: 'And tomorrow?', previous_response_id: answer.id })
      assert.equal(inputOf(native).length, 6)
      assert.equal(inputOf(native)[2]?.type, 'function_call')
    })
  })
}

describe('a conversation with providers that a mock plays', () => {
  const PROVIDERS = [
    ['responses', 'openai', '/v1'],
    ['chat-completions', 'openai', '/v1'],
    ['messages', 'anthropic', '/v1'],
    ['generate-content', 'google', '/v1beta'],
  ] as const
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
  let mocked: Gateway

  before(async () => {
    mock.addFixture({ match: { userMessage: 'weather' }, response: { toolCalls: [{ name: 'look', arguments: '{}' }] } })
    mock.addFixture({ match: { userMessage: 'One' }, response: { content: 'First' } })
    mock.addFixture({ match: { userMessage: 'Two' }, response: { content: 'Second' } })
    await mock.start()
    const channels = PROVIDERS.map(
      ([format, provider, path]) =>
        `\n  - { id: ${format}, provider: ${provider}, base_url: "${mock.url}${path}", api_key: k, formats: [${format}] }`,
    )
    const models = PROVIDERS.map(
      ([format]) =>
        `\n  - { id: ${format}, scene: chat, price: { input: "1", output: "2" }, offers: [{ channel: ${format} }] }`,
    )
    mocked = await Gateway.start({ config: `channels:${channels.join('')}\nmodels:${models.join('')}\n` })
  })

  after(async () => {
    await mocked?.stop()
    await mock.stop()
  })

  /** Streams a response and checks that each of its events names the items with which it ends. */
  async function streamed(request: Ask): Promise<OpenAI.Responses.Response> {
    const sdk = new OpenAI({ baseURL: `${mocked.baseUrl}/v1`, apiKey: mocked.apiKey, maxRetries: 0 })
    const named = new Set<string>()
    const stream = sdk.responses.stream(request)
    for await (const event of stream) {
      if ('item_id' in event) named.add(event.item_id)
      if ('item' in event && event.item.id) named.add(event.item.id)
    }
    const response = await stream.finalResponse()
    assert.deepEqual(new Set(response.output.map(({ id }) => id)), named)
    return response
  }

  for (const [model] of PROVIDERS) {
    it(`goes on over ${model}, with ids that no two responses share`, async () => {
      const first = await streamed({ model, input: 'One' })
      const second = await streamed({ model, input: 'Two', previous_response_id: first.id })
      const third = await streamed({ model, input: 'The weather', previous_response_id: second.id })
      assert.deepEqual([first.output_text, second.output_text], ['First', 'Second'])
      const call = third.output.find(item => item.type === 'function_call')
      assert.equal(call?.name, 'look')
      const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'Sunny' }
      const next = { role: 'user' as const, content: 'One' }
      const fourth = await streamed({ model, input: [output, next], previous_response_id: third.id })
      assert.equal(fourth.output_text, 'First')
      const ids = [first, second, third, fourth].flatMap(({ id, output }) => [id, ...output.map(item => item.id)])
      assert.equal(new Set(ids).size, ids.length)
    })
  }
})

describe('the tokens of a request that goes on from a response', () => {
  it('are those of the whole conversation, and no upstream is asked for what it does not have', async () => {
    native.script = words
    const { id } = await client.responses.create({ model: 'native', input: 'One' })
    native.script = (_seen, response) => {
      response.setHeader('content-type', 'application/json')
      response.end('{"object":"response.input_tokens","input_tokens":42}')
    }
    const count = (model: string) =>
      client.responses.inputTokens.count({ model, input: 'Two', previous_response_id: id })
    assert.equal((await count('native')).input_tokens, 42)
    assert.deepEqual(
      said(native).map(([role]) => role),
      ['user', 'assistant', 'user'],
    )
    assert.equal(last(native).previous_response_id, undefined)
    for (const item of inputOf(native)) assert.ok(!('id' in item), JSON.stringify(item))
    const alone = await client.responses.inputTokens.count({ model: 'chat', input: 'Two' })
    assert.ok((await count('chat')).input_tokens > alone.input_tokens)
    const ofStranger = stranger.responses.inputTokens.count({ model: 'native', previous_response_id: id })
    await assert.rejects(ofStranger, previousNotFound)
  })
})

describe('what an upstream of responses is asked for', () => {
  it('is sealed reasoning where the model reasons or the request speaks of it', async () => {
    native.script = words
    await client.responses.create({ model: 'native', input: 'x' })
    assert.equal(last(native).include, undefined)
    await client.responses.create({ model: 'thinker', input: 'x' })
    assert.deepEqual(last(native).include, [SEALED])
    await client.responses.create({ model: 'native', input: 'x', store: false, reasoning: { effort: 'low' } })
    assert.deepEqual(last(native).include, [SEALED])
  })
})

describe('a stored response', () => {
  it('is given back as it was given, until it is deleted', async () => {
    for (const model of ['native', 'chat']) {
      for (const ask of Object.values(ways)) {
        native.script = words
        const { output_text: _text, ...given } = await ask({ model, input: 'One', metadata: { a: 'b' } })
        const { output_text: _same, ...kept } = await client.responses.retrieve(given.id)
        // The helper that gathers a stream adds what it parsed.
        assert.deepEqual(
          kept,
          JSON.parse(JSON.stringify(given, (key, value) => (/^parsed|^output_parsed/.test(key) ? undefined : value))),
        )
        const raw = await gateway.fetch(`/v1/responses/${given.id}`, { method: 'DELETE' })
        assert.deepEqual(await raw.json(), { id: given.id, object: 'response', deleted: true })
        await assert.rejects(client.responses.retrieve(given.id), notFound)
        await assert.rejects(client.responses.delete(given.id), notFound)
        await assert.rejects(client.responses.inputItems.list(given.id), notFound)
      }
    }
  })

  it('lists the items of its own input, page by page', async () => {
    const first = await client.responses.create({ model: 'native', input: 'One' })
    const input = [
      { role: 'user' as const, content: 'Two' },
      { type: 'item_reference' as const, id: first.output[0]?.id ?? '' },
      { role: 'user' as const, content: 'Three' },
    ]
    const { id } = await client.responses.create({ model: 'native', input, previous_response_id: first.id })
    const listed = []
    for await (const item of client.responses.inputItems.list(id, { limit: 2, order: 'asc' })) listed.push(item)
    assert.deepEqual(
      listed.map(item => (item.type === 'message' ? item.content : item.type)),
      ['Two', first.output[0]?.type === 'message' && first.output[0].content, 'Three'],
    )
    assert.equal(new Set(listed.map(item => item.id)).size, 3)
    const newest = await client.responses.inputItems.list(id, { limit: 1 })
    assert.deepEqual([newest.data[0]?.id, newest.has_more], [listed[2]?.id, true])
    const again = await client.responses.inputItems.list(id, { order: 'asc' })
    assert.deepEqual(again.data, listed)
    const [only] = (await client.responses.inputItems.list(first.id)).data
    assert.deepEqual(only?.type === 'message' && only.content, [{ type: 'input_text', text: 'One' }])
  })

  it('is found by either way to send a key, and not without', async () => {
    const { id } = await client.responses.create({ model: 'native', input: 'One' })
    const path = `/v1/responses/${id}`
    const byHeader = await gateway.fetch(path, { key: null, headers: { 'x-api-key': gateway.apiKey } })
    assert.equal(byHeader.status, 200)
    assert.equal((await gateway.fetch(path, { key: null })).status, 401)
    const streamed = await gateway.fetch(`${path}?stream=true`)
    assert.equal(streamed.status, 400)
    assert.equal(((await streamed.json()) as { error: { code: string } }).error.code, 'unsupported_parameter')
  })

  it('has not been kept when the client said so', async () => {
    const before = await rows()
    for (const ask of Object.values(ways)) {
      for (const model of ['native', 'chat']) {
        const response = await ask({ model, input: 'One', store: false })
        assert.equal((response as { store?: unknown }).store, false)
        await assert.rejects(client.responses.retrieve(response.id), notFound)
        await assert.rejects(
          client.responses.create({ model, input: 'x', previous_response_id: response.id }),
          previousNotFound,
        )
      }
    }
    assert.equal(await rows(), before)
  })

  it('may hold any text that JSON can write', async () => {
    const text = 'NUL \u0000 and half a pair \ud83d'
    native.script = answerNatively(turn => [message(`msg_upstream_${turn}`, text)])
    const first = await client.responses.create({ model: 'native', input: 'One\u0000' })
    native.script = words
    await client.responses.create({ model: 'native', input: 'Two', previous_response_id: first.id })
    assert.deepEqual(said(native).slice(0, 2), [
      ['user', 'One\u0000'],
      ['assistant', text],
    ])
  })

  it('is kept also when the answer was cut short by its limit, and not when it failed', async () => {
    const before = await rows()
    chat.script = (_seen, response) => {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hel' }, finish_reason: 'length' }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(completion({ choices: [choice] })))
    }
    const { id, status } = await client.responses.create({ model: 'chat', input: 'One' })
    assert.equal(status, 'incomplete')
    assert.equal((await client.responses.retrieve(id)).status, 'incomplete')
    chat.script = (_seen, response) => void response.writeHead(500).end('{}')
    await assert.rejects(client.responses.create({ model: 'chat', input: 'One' }))
    chat.script = answerWhole()
    assert.equal(await rows(), before + 1)
  })
})

describe('a conversation that cannot go on', () => {
  it('lacks a turn that was deleted, be it the last or an earlier one', async () => {
    native.script = words
    const first = await client.responses.create({ model: 'native', input: 'One' })
    const second = await client.responses.create({ model: 'native', input: 'Two', previous_response_id: first.id })
    const goOn = () => client.responses.create({ model: 'native', input: 'Three', previous_response_id: second.id })
    await goOn()
    const asked = native.seen.length
    await client.responses.delete(first.id)
    await assert.rejects(goOn(), previousNotFound)
    await client.responses.delete(second.id)
    await assert.rejects(goOn(), previousNotFound)
    const [item] = first.output
    await assert.rejects(
      client.responses.create({ model: 'native', input: [{ type: 'item_reference', id: item?.id ?? '' }] }),
      refusedWith(400, null, 'input[0].id'),
    )
    assert.equal(native.seen.length, asked)
  })

  it('is told nothing of what another workspace has', async () => {
    const { id, output } = await client.responses.create({ model: 'native', input: 'Secret' })
    const asked = native.seen.length
    const strangers = (responseId: string, itemId: string) => [
      stranger.responses.retrieve(responseId),
      stranger.responses.delete(responseId),
      stranger.responses.inputItems.list(responseId),
      stranger.responses.create({ model: 'native', input: 'x', previous_response_id: responseId }),
      stranger.responses.create({ model: 'native', input: [{ type: 'item_reference', id: itemId }] }),
    ]
    const told = async (attempts: Promise<unknown>[], names: readonly string[]) =>
      (await Promise.allSettled(attempts)).map(attempt => {
        assert.ok(attempt.status === 'rejected' && attempt.reason instanceof OpenAI.APIError)
        const { status, code, param, message: text } = attempt.reason
        return [status, code, param, names.reduce((words, name) => words.replaceAll(name, '…'), text)]
      })
    const itemId = output[0]?.id ?? ''
    const ofOthers = await told(strangers(id, itemId), [id, itemId])
    assert.deepEqual(
      ofOthers.map(([status]) => status),
      [404, 404, 404, 400, 400],
    )
    assert.deepEqual(ofOthers, await told(strangers('resp_never', 'msg_never'), ['resp_never', 'msg_never']))
    assert.equal(native.seen.length, asked)
    assert.equal((await client.responses.retrieve(id)).id, id)
  })

  it('is named by what no id can be', async () => {
    const goOn = (request: object) => client.responses.create({ model: 'native', input: 'x', ...request })
    for (const id of ['a\u0000b', 'x'.repeat(5000), '', "' or true --"]) {
      await assert.rejects(goOn({ previous_response_id: id }), previousNotFound)
      await assert.rejects(goOn({ input: [{ type: 'item_reference', id }] }), refusedWith(400, null, 'input[0].id'))
    }
    await assert.rejects(client.responses.retrieve('a\u0000b'), notFound)
    const odd = { id: `msg_\u0000${'x'.repeat(5000)}`, role: 'user', content: 'One' } as const
    const { id } = await goOn({ input: [odd] })
    assert.equal((await client.responses.inputItems.list(id)).data[0]?.id, odd.id)
  })

  it('was asked for in a way that no upstream is', async () => {
    for (const param of ['conversation', 'background'] as const) {
      const request = { model: 'native', input: 'x', conversation: null, background: null }
      await assert.rejects(
        client.responses.create({ ...request, [param]: param === 'background' ? true : 'conv_1' }),
        refusedWith(400, 'unsupported_parameter', param),
      )
    }
  })

  it('has more turns than are read', async () => {
    const { id } = await client.responses.create({ model: 'native', input: 'One' })
    await query(
      `insert into stored_responses select workspace_id, 'resp_long_' || n,
         case n when 1 then $1 else 'resp_long_' || n - 1 end, model, input, response, bytes, created_at, expires_at
       from stored_responses, generate_series(1, 1000) as n where response_id = $1`,
      [id],
    )
    const goOn = (n: number) =>
      client.responses.create({ model: 'native', input: 'x', previous_response_id: `resp_long_${n}` })
    await goOn(999)
    assert.equal(inputOf(native).length, 2001)
    await assert.rejects(goOn(1000), refusedWith(400, 'context_length_exceeded'))
    await query("update stored_responses set bytes = 20000000 where response_id like 'resp_long_%'")
    await assert.rejects(goOn(3), refusedWith(400, 'context_length_exceeded'))
  })
})

describe('a response that has expired', () => {
  const expire = (...ids: string[]) =>
    query("update stored_responses set expires_at = now() - interval '1 second' where response_id = any($1)", [ids])

  it('is gone at once, and so are its items', async () => {
    const { id, output } = await client.responses.create({ model: 'native', input: 'One' })
    await expire(id)
    await assert.rejects(client.responses.retrieve(id), notFound)
    await assert.rejects(client.responses.delete(id), notFound)
    await assert.rejects(
      client.responses.create({ model: 'native', input: [{ type: 'item_reference', id: output[0]?.id ?? '' }] }),
      refusedWith(400, null, 'input[0].id'),
    )
  })

  it('had not been needed for thirty days', async () => {
    const first = await client.responses.create({ model: 'native', input: 'One' })
    const second = await client.responses.create({ model: 'native', input: 'Two', previous_response_id: first.id })
    const ids = [first.id, second.id]
    const daysLeft = async () => {
      const left = `select extract(epoch from expires_at - now()) / 86400 as days from stored_responses
        where response_id = any($1) order by created_at`
      return (await query(left, [ids])).rows.map(({ days }) => Number(days))
    }
    for (const days of await daysLeft()) assert.ok(days >= 29.99 && days <= 32, String(days))
    await query("update stored_responses set expires_at = now() + interval '1 hour' where response_id = any($1)", [ids])
    const third = await client.responses.create({ model: 'native', input: 'Three', previous_response_id: second.id })
    ids.push(third.id)
    const [ofFirst = 0, ofSecond = 0, ofThird = 0] = await daysLeft()
    assert.ok(ofFirst >= ofThird && ofSecond >= ofThird && ofThird >= 29.99, String([ofFirst, ofSecond, ofThird]))
    const [item] = first.output
    await query("update stored_responses set expires_at = now() + interval '1 hour' where response_id = any($1)", [ids])
    await client.responses.create({ model: 'native', input: [{ type: 'item_reference', id: item?.id ?? '' }] })
    assert.ok(((await daysLeft())[0] ?? 0) > 29)
  })

  it('is deleted in the background', { timeout: 60_000 }, async () => {
    const short = await Gateway.start({ config: `${config()}\nresponses: { keep: 1s }\n` })
    try {
      const response = await short.post('/v1/responses', { model: 'native', input: 'One' })
      assert.equal(response.status, 200)
      const database = new pg.Client({ connectionString: short.database?.url ?? '' })
      await database.connect()
      try {
        await eventually('the deletion', async () => {
          const { rowCount } = await database.query('select from stored_responses')
          return rowCount === 0 ? true : undefined
        })
      } finally {
        await database.end()
      }
    } finally {
      await short.stop()
    }
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { BadRequestError } from 'openai'
import { answerCalling, FORMATS, type Format } from '../support/calling-upstream.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { ScriptedUpstream } from '../support/upstream.ts'

/** Tools across formats: what the upstream is told and what each SDK makes of its answer, whole and streamed. */

type Json = Record<string, unknown>

const PROVIDERS: Readonly<Record<Format, { provider: string; path: string }>> = {
  'chat-completions': { provider: 'openai', path: '/v1' },
  responses: { provider: 'openai', path: '/v1' },
  messages: { provider: 'anthropic', path: '/v1' },
  'generate-content': { provider: 'google', path: '/v1beta' },
}

let upstream: ScriptedUpstream
let gateway: Gateway

before(async () => {
  upstream = await ScriptedUpstream.start()
  const channels = FORMATS.map(format => {
    const { provider, path } = PROVIDERS[format]
    return `  - { id: ${format}, provider: ${provider}, base_url: "${upstream.url}${path}", api_key: k, formats: [${format}] }`
  })
  const models = FORMATS.map(
    format => `  - id: via-${format}
    scene: chat
    max_output_tokens: 4096
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: ${format}, upstream_model: upstream-model }]`,
  )
  channels.push(
    `  - { id: translator, provider: openai, base_url: "${upstream.url}/v1", api_key: k, quirks: { translation_options: true } }`,
  )
  models.push(`  - id: translating
    scene: translation
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: translator }]`)
  gateway = await Gateway.start({ config: `channels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n` })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

function openai(): OpenAI {
  return new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
}

/** What the upstream was asked last. */
function asked(): Json {
  return upstream.seen.at(-1)?.body ?? {}
}

/** Values of every key of that name, wherever it stands. */
function valuesOf(owner: unknown, key: string): unknown[] {
  if (typeof owner !== 'object' || owner === null) return []
  return Object.entries(owner).flatMap(([name, value]) => [...(name === key ? [value] : []), ...valuesOf(value, key)])
}

describe('a tool that takes free text', () => {
  const TEXT = '*** Begin Patch\n+ say "Grüße ☃ 😀" \\ done\t\u2028\n*** End Patch'
  const DEFINITION = 'start: "*** Begin Patch" /(.|\\n)+/'
  const native = (format: Format) => format === 'chat-completions' || format === 'responses'

  const chat = (model: string): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming => ({
    model,
    messages: [
      { role: 'user', content: 'Change it' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_0', type: 'custom', custom: { name: 'apply_patch', input: TEXT } }],
      },
      { role: 'tool', tool_call_id: 'call_0', content: 'Failed' },
    ],
    tools: [
      {
        type: 'custom',
        custom: {
          name: 'apply_patch',
          description: 'Changes files.',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: DEFINITION } },
        },
      },
    ],
    tool_choice: { type: 'custom', custom: { name: 'apply_patch' } },
  })
  const response = (model: string): Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'> => ({
    model,
    input: [
      { role: 'user', content: 'Change it' },
      { type: 'custom_tool_call', call_id: 'call_0', name: 'apply_patch', input: TEXT },
      { type: 'custom_tool_call_output', call_id: 'call_0', output: 'Failed' },
    ],
    tools: [
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Changes files.',
        format: { type: 'grammar', syntax: 'lark', definition: DEFINITION },
      },
    ],
    tool_choice: { type: 'custom', name: 'apply_patch' },
  })

  /** The name and the text with which each SDK says that the tool was called. */
  const clients: Readonly<Record<string, (model: string) => Promise<unknown[]>>> = {
    'chat-completions, whole': async model => {
      const { choices } = await openai().chat.completions.create(chat(model))
      const call = choices[0]?.message.tool_calls?.[0]
      assert.equal(choices[0]?.finish_reason, 'tool_calls')
      return call?.type === 'custom' ? [call.custom.name, call.custom.input] : []
    },
    'chat-completions, streamed': async model => {
      const stream = await openai().chat.completions.create({ ...chat(model), stream: true })
      const calls: { type?: string; custom?: { name?: string; input?: string } }[] = []
      for await (const { choices } of stream) calls.push(...((choices[0]?.delta.tool_calls ?? []) as typeof calls))
      assert.equal(calls[0]?.type, 'custom')
      return [calls[0]?.custom?.name, calls.map(call => call.custom?.input ?? '').join('')]
    },
    'responses, whole': async model => {
      const [item] = (await openai().responses.create(response(model))).output
      return item?.type === 'custom_tool_call' ? [item.name, item.input] : []
    },
    'responses, streamed': async model => {
      const stream = openai().responses.stream(response(model))
      let text = ''
      stream.on('event', event => {
        if (event.type === 'response.custom_tool_call_input.delta') text += event.delta
      })
      const [item] = (await stream.finalResponse()).output
      assert.ok(item?.type === 'custom_tool_call')
      assert.equal(item.input, text)
      return [item.name, text]
    },
  }

  for (const format of FORMATS) {
    for (const [client, call] of Object.entries(clients)) {
      it(`is called with it by a model behind ${format}, as ${client}, tells`, async () => {
        const written = native(format) ? TEXT : JSON.stringify({ input: TEXT })
        upstream.script = answerCalling({ calling: { id: 'call_1', written } })
        assert.deepEqual(await call(`via-${format}`), ['apply_patch', TEXT])
        TOLD[format](asked())
      })
    }
  }

  const TOLD: Readonly<Record<Format, (body: Json) => void>> = {
    'chat-completions': body => {
      assert.deepEqual(body.tools, chat('').tools)
      assert.deepEqual(body.tool_choice, chat('').tool_choice)
      assert.deepEqual(valuesOf(body.messages, 'custom'), [{ name: 'apply_patch', input: TEXT }])
    },
    responses: body => {
      assert.deepEqual(body.tools, response('').tools)
      assert.deepEqual(body.tool_choice, response('').tool_choice)
      assert.deepEqual((body.input as Json[]).slice(1), (response('').input as unknown[]).slice(1))
    },
    messages: body => {
      const [tool] = body.tools as { name: string; description: string; input_schema: { required: string[] } }[]
      assert.deepEqual(tool?.input_schema.required, ['input'])
      assert.ok(tool.description.startsWith('Changes files.') && tool.description.endsWith(DEFINITION))
      assert.deepEqual(body.tool_choice, { type: 'tool', name: 'apply_patch' })
      const { content } = (body.messages as Json[])[1] ?? {}
      assert.deepEqual(content, [{ type: 'tool_use', id: 'call_0', name: 'apply_patch', input: { input: TEXT } }])
    },
    'generate-content': body => {
      const [declaration] = valuesOf(body.tools, 'functionDeclarations').flat() as Json[]
      assert.deepEqual(valuesOf(declaration, 'required'), [['input']])
      assert.ok(String(declaration?.description).endsWith(DEFINITION))
      const choice = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['apply_patch'] } }
      assert.deepEqual(body.toolConfig, choice)
      assert.deepEqual(valuesOf(body.contents, 'args'), [{ input: TEXT }])
    },
  }
})

describe('a tool whose name no upstream takes', () => {
  const NAME = `1.files/${'read_the_whole_of_it_'.repeat(7)}`
  const SCHEMA = { type: 'object' as const, properties: { path: { type: 'string' } } }

  const google = () => new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
  const anthropic = () => new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
  const chat = (model: string): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming => ({
    model,
    messages: [{ role: 'user', content: 'Read' }],
    tools: [{ type: 'function', function: { name: NAME, parameters: SCHEMA } }],
  })
  const response = (model: string): Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'> => ({
    model,
    input: 'Read',
    tools: [{ type: 'function', name: NAME, parameters: SCHEMA, strict: false }],
  })
  const message = (model: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Read' }],
    tools: [{ name: NAME, input_schema: SCHEMA }],
  })
  const contents = (model: string): Parameters<GoogleGenAI['models']['generateContent']>[0] => ({
    model,
    contents: 'Read',
    config: { tools: [{ functionDeclarations: [{ name: NAME, parametersJsonSchema: SCHEMA }] }] },
  })

  /** The names of the tools that each SDK says were called. */
  const clients: Readonly<
    Record<Format, Readonly<Record<'whole' | 'streamed', (model: string) => Promise<unknown[]>>>>
  > = {
    'chat-completions': {
      whole: async model =>
        namesOf((await openai().chat.completions.create(chat(model))).choices[0]?.message.tool_calls),
      streamed: async model => {
        const stream = openai().chat.completions.stream({ ...chat(model), stream: true })
        return namesOf((await stream.finalChatCompletion()).choices[0]?.message.tool_calls)
      },
    },
    responses: {
      whole: async model => namesOf((await openai().responses.create(response(model))).output),
      streamed: async model => namesOf((await openai().responses.stream(response(model)).finalResponse()).output),
    },
    messages: {
      whole: async model => namesOf((await anthropic().messages.create(message(model))).content),
      streamed: async model => namesOf((await anthropic().messages.stream(message(model)).finalMessage()).content),
    },
    'generate-content': {
      whole: async model => namesOf((await google().models.generateContent(contents(model))).functionCalls),
      streamed: async model => {
        const names: unknown[] = []
        const stream = await google().models.generateContentStream(contents(model))
        for await (const { functionCalls } of stream) names.push(...namesOf(functionCalls))
        return names
      },
    },
  }
  const namesOf = (calls: unknown) => valuesOf(calls, 'name')

  for (const client of FORMATS) {
    for (const format of FORMATS.filter(each => each !== client)) {
      for (const way of ['whole', 'streamed'] as const) {
        it(`has another one at ${format} and its own in ${client}, ${way}`, async () => {
          upstream.script = answerCalling({ calling: { id: 'call_1', written: '{"path":"a"}' } })
          assert.deepEqual(await clients[client][way](`via-${format}`), [NAME])
          const [told] = valuesOf(asked().tools, 'name')
          assert.match(String(told), /^_1_files_read_the_whole\w*$/)
          assert.equal(String(told).length, 64)
        })
      }
    }
  }
})

describe('calls without results, and results without calls', () => {
  const conversation = (model: string): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming => ({
    model,
    messages: [
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        tool_calls: ['a/1', 'b/2'].map(id => ({ id, type: 'function', function: { name: 'look', arguments: '' } })),
      },
      { role: 'tool', tool_call_id: 'b/2', content: 'seen' },
      { role: 'tool', tool_call_id: 'lost/1', content: 'found' },
    ],
    tools: [{ type: 'function', function: { name: 'look' } }],
  })

  it('reach every upstream as a conversation that it takes, and the client hears of it', async () => {
    upstream.script = answerCalling({ calling: { id: 'call_1', written: '{}' } })
    for (const format of ['messages', 'generate-content', 'responses'] as const) {
      const { response } = await openai()
        .chat.completions.create(conversation(`via-${format}`))
        .withResponse()
      const warnings = response.headers.get('x-gateway-warnings') ?? ''
      assert.match(warnings, /a tool call without its result/)
      assert.match(warnings, /a tool result without its call/)
      SENT[format](asked())
    }
  })

  const SENT: Readonly<Record<'messages' | 'generate-content' | 'responses', (body: Json) => void>> = {
    messages: body => {
      const [, said, heard] = body.messages as { content: Json[] }[]
      const ids = said?.content.map(block => block.id)
      assert.deepEqual(heard?.content.slice(0, 2), [
        { type: 'tool_result', tool_use_id: ids?.[0], content: 'The tool was not run.', is_error: true },
        { type: 'tool_result', tool_use_id: ids?.[1], content: 'seen' },
      ])
      assert.match(JSON.stringify(heard?.content.slice(2)), /the tool call call_\w+:.*found/)
    },
    'generate-content': body => {
      const results = valuesOf(body.contents, 'functionResponse') as { id: string; response: Json }[]
      assert.deepEqual(
        results.map(({ id, response }) => [id, response]),
        [
          ['a/1', { error: 'The tool was not run.' }],
          ['b/2', { output: 'seen' }],
        ],
      )
      assert.match(JSON.stringify(body.contents), /the tool call lost\/1:.*found/)
    },
    responses: body => {
      const items = body.input as Json[]
      assert.deepEqual(items.slice(1, 5), [
        { type: 'function_call', call_id: 'a/1', name: 'look', arguments: '{}' },
        { type: 'function_call', call_id: 'b/2', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a/1', output: 'Error: The tool was not run.' },
        { type: 'function_call_output', call_id: 'b/2', output: 'seen' },
      ])
      assert.match(JSON.stringify(items.slice(5)), /the tool call lost\/1:.*found/)
    },
  }

  it('reach chat-completions so from a client of messages, images of results after all of them', async () => {
    upstream.script = answerCalling({ calling: { id: 'call_1', written: '{}' } })
    const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
    const image = { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' }
    await client.messages.create({
      model: 'via-chat-completions',
      max_tokens: 100,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: ['toolu_1', 'toolu_2'].map(id => ({ type: 'tool_use', id, name: 'look', input: {} })),
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'image', source: image }] }],
        },
      ],
    })
    assert.deepEqual((asked().messages as Json[]).slice(2), [
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: The tool was not run.' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'See the next message of the user.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the tool call toolu_2:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ])
  })
})

describe('what chat-completions alone can ask for', () => {
  const asking = (model: string, fields: Json) =>
    openai().chat.completions.create({ model, messages: [{ role: 'user', content: 'Guten Tag' }], ...fields })

  it('is translation, which an upstream without options for it is asked for in words', async () => {
    upstream.script = answerCalling({ calling: { id: 'call_1', written: '{}' } })
    const translation_options = { source_lang: 'German', target_lang: 'French' }
    for (const [format, place] of [
      ['messages', 'system'],
      ['generate-content', 'systemInstruction'],
      ['responses', 'instructions'],
      ['chat-completions', 'messages'],
    ] as const) {
      await asking(`via-${format}`, { translation_options })
      assert.match(JSON.stringify(asked()[place]), /from German into French/)
    }
    assert.equal(asked().translation_options, undefined)
    await asking('translating', { translation_options })
    assert.deepEqual(asked().translation_options, translation_options)
    // Reports tell it from chat, though the models are the same.
    const { items } = await eventually('the usage of all five', async () => {
      const report = await gateway.usage('?scene=translation')
      return report.pagination.total === 5 ? report : undefined
    })
    assert.deepEqual(
      items.map(({ model }) => model),
      ['translating', 'via-chat-completions', 'via-responses', 'via-generate-content', 'via-messages'],
    )
    await assert.rejects(
      asking('translating', {}),
      (error: BadRequestError) => error.status === 400 && /translation_options/.test(JSON.stringify(error.error)),
    )
  })

  it('is refused in its own words, before anything is sent, where an answer would be another one', async () => {
    const audio = { voice: 'alloy', format: 'wav' }
    const spoken = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]
    const cases: [Json, string][] = [
      [{ n: 2 }, 'n'],
      [{ modalities: ['text', 'audio'], audio }, 'modalities'],
      [{ messages: [{ role: 'user', content: spoken }] }, 'input_audio'],
      [{ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] }, 'file_id'],
    ]
    const before = upstream.seen.length
    for (const [fields, param] of cases) {
      await assert.rejects(asking('via-messages', fields), (error: unknown) => {
        assert.ok(error instanceof BadRequestError)
        assert.deepEqual([error.code, error.param], ['unsupported_parameter', param])
        return true
      })
    }
    for (const [fields, param] of [
      [{ translation_options: {} }, 'translation_options.target_lang'],
      [{ modalities: ['audio'] }, 'audio'],
    ] as const) {
      const isNamed = (error: unknown) => error instanceof BadRequestError && error.param === param
      await assert.rejects(asking('via-chat-completions', fields), isNamed)
    }
    assert.equal(upstream.seen.length, before)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Message, Part } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { call as anyCall } from '../../../test/support/arbitrary-messages.ts'
import { target } from '../../../test/support/target.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

const CALL: Call = {
  model: 'public-model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  isStream: false,
  wantsStreamUsage: false,
  extensions: {},
}

function encode(fields: Partial<Call>, to: Partial<Target> = {}) {
  return encodeRequest({ ...CALL, ...fields }, target(to))
}

const say = (text: string): Part => ({ type: 'text', text })
const user = (...parts: Part[]): Message => ({ role: 'user', parts })
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts })
const calling = (id: string, written = '{}'): Part => ({
  type: 'tool-call',
  kind: 'function',
  id,
  name: 'f',
  arguments: written,
})
const resulting = (callId: string, ...parts: Part[]): Part => ({ type: 'tool-result', callId, parts })
const TOOLS: Call['tools'] = [{ kind: 'function', name: 'f' }]

/** As it travels: undefined fields and values that JSON does not have are gone. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function messagesOf(messages: readonly Message[]): unknown {
  return encode({ messages, tools: TOOLS }).body.messages
}

describe('encodeRequest', () => {
  it('is undone by decodeRequest for every call that the format can carry', () => {
    fc.assert(
      fc.property(anyCall, call => {
        const { body, warnings } = encodeRequest(call, target({ upstreamModel: call.model }))
        assert.deepEqual(overTheWire(decodeRequest(overTheWire(body))), overTheWire(call))
        assert.deepEqual(warnings, [])
      }),
      { numRuns: 500 },
    )
  })

  it('names the model as the upstream does and says the maximum that the format requires', () => {
    const body = { model: 'upstream-model', max_tokens: 4096, messages: [{ role: 'user', content: 'Hi' }] }
    assert.deepEqual(encode({}), { body, warnings: [] })
    const limits = { contextLength: undefined, maxOutputTokens: 64_000 }
    assert.equal(encode({}, { limits }).body.max_tokens, 64_000)
    assert.equal(encode({ maxOutputTokens: 100 }, { limits }).body.max_tokens, 100)
    assert.equal(encode({ maxOutputTokens: 100_000 }, { limits }).body.max_tokens, 64_000)
  })

  it('leaves out what the format cannot say, and says so', () => {
    const foreign: Part = { type: 'opaque', format: 'responses', value: {} }
    const { body, warnings } = encode({
      messages: [{ ...user(say('Hi'), foreign, { type: 'video', source: { kind: 'url', url: 'u' } }), name: 'Ann' }],
      tools: [{ kind: 'opaque', format: 'responses', value: { type: 'web_search' } }, ...TOOLS],
      presencePenalty: 1,
      frequencyPenalty: 1,
      seed: 1,
      choices: 2,
      topLogprobs: 0,
      verbosity: 'low',
      modalities: ['text', 'audio'],
      audioOutput: { voice: 'a', format: 'wav' },
      cacheKey: 'k',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      temperature: 1.5,
      stop: ['\n', 'END'],
      extensions: { responses: { truncation: 'auto' }, messages: { container: 'c' } },
    })
    assert.deepEqual(body, {
      container: 'c',
      model: 'upstream-model',
      max_tokens: 4096,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
      temperature: 1,
      stop_sequences: ['END'],
    })
    const things = [
      ['presence_penalty', 'frequency_penalty', 'seed', 'n', 'logprobs', 'verbosity', 'modalities', 'audio'],
      ['prompt_cache_key', 'metadata', 'truncation', 'a tool of responses', 'name', 'a part of responses'],
      ['a video part', 'a temperature above 1', 'a blank stop sequence', 'service_tier'],
    ]
    assert.deepEqual(
      warnings.toSorted(),
      things
        .flat()
        .map(thing => `${thing} has no equivalent in messages`)
        .toSorted(),
    )
  })
})

describe('the conversation of a request', () => {
  it('has what instructs the model at its head, with its cache breakpoints', () => {
    const { body } = encode({
      messages: [
        { role: 'system', parts: [say('Be kind.')] },
        { role: 'developer', parts: [{ type: 'text', text: 'Be brief.', cache: { ttl: '1h' } }] },
        user(say('Hi')),
      ],
    })
    assert.deepEqual(body.system, [
      { type: 'text', text: 'Be kind.' },
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ])
  })

  it('gives later instructions to the user to say, marked as what they are', () => {
    const { body, warnings } = encode({
      messages: [user(say('Hi')), assistant(say('Yes?')), { role: 'system', parts: [say('Stop.')] }, user(say('Go'))],
    })
    assert.deepEqual((body.messages as unknown[])[2], {
      role: 'user',
      content: [
        { type: 'text', text: '<system>\nStop.\n</system>' },
        { type: 'text', text: 'Go' },
      ],
    })
    assert.deepEqual(warnings, ['a system message after the first turn has no equivalent in messages'])
  })

  it('begins with the user, also where the call does not', () => {
    const placeholder = { role: 'user', content: '(no message)' }
    assert.deepEqual(messagesOf([assistant(say('Hello'))]), [placeholder, { role: 'assistant', content: 'Hello' }])
    const { body } = encode({ messages: [{ role: 'system', parts: [say('Greet.')] }] })
    assert.deepEqual([body.system, body.messages], ['Greet.', [placeholder]])
  })

  it('joins neighbours of one role, and has nothing blank in it', () => {
    assert.deepEqual(messagesOf([user(say('a')), user(say(' \n')), assistant(say('')), user(say('b'))]), [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  it('has no white space at the end of an answer to go on with', () => {
    assert.deepEqual(messagesOf([user(say('a')), assistant(say('b: \n'))]), [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b:' },
    ])
  })

  it('has an object for arguments, whatever the model wrote', () => {
    const inputs: [string, unknown][] = [
      ['', {}],
      [' ', {}],
      ['{"a":[1]}', { a: [1] }],
      ['{"a":', { input: '{"a":' }],
      ['[1]', { input: [1] }],
    ]
    for (const [written, input] of inputs) {
      const messages = messagesOf([user(say('Go')), assistant(calling('a', written))]) as {
        content: { input: unknown }[]
      }[]
      assert.deepEqual(messages[1]?.content[0]?.input, input)
    }
  })

  it('keeps sealed thoughts as they are, also one without a word, and leaves out the others', () => {
    const parts: Part[] = [
      { type: 'reasoning', text: 'Hm.', signature: 's1' },
      { type: 'reasoning', text: '', signature: 's2' },
      { type: 'reasoning', text: '', encrypted: 'e' },
      { type: 'reasoning', text: 'Unsealed.' },
    ]
    const { body, warnings } = encode({ messages: [user(say('Hi')), assistant(...parts, say('So.')), user(say('On'))] })
    assert.deepEqual((body.messages as { content: unknown }[])[1]?.content, [
      { type: 'thinking', thinking: 'Hm.', signature: 's1' },
      { type: 'thinking', thinking: '', signature: 's2' },
      { type: 'redacted_thinking', data: 'e' },
      { type: 'text', text: 'So.' },
    ])
    assert.deepEqual(warnings, ['reasoning without a signature has no equivalent in messages'])
  })

  it('tells the type of an image that was not told, by its bytes', () => {
    const types: [string | undefined, string, string][] = [
      [undefined, '/9j/4AAQ', 'image/jpeg'],
      ['image/*', 'iVBORw0KGgoAAA', 'image/png'],
      ['application/octet-stream', 'UklGRgAA', 'image/webp'],
      ['image/jpg', 'AAAA', 'image/jpeg'],
      ['image/gif', '/9j/4AAQ', 'image/gif'],
    ]
    for (const [mediaType, data, told] of types) {
      const messages = messagesOf([user({ type: 'image', source: { kind: 'base64', mediaType, data } })])
      assert.deepEqual(messages, [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: told, data } }],
        },
      ])
    }
  })
})

describe('tools of a request', () => {
  const choice = (fields: Partial<Call>) => encode({ tools: TOOLS, ...fields }).body.tool_choice

  it('are chosen in the words of the format', () => {
    assert.equal(choice({}), undefined)
    assert.deepEqual(choice({ toolChoice: { mode: 'required' } }), { type: 'any' })
    assert.deepEqual(choice({ toolChoice: { mode: 'tool', name: 'f' } }), { type: 'tool', name: 'f' })
    assert.deepEqual(choice({ toolChoice: { mode: 'none' }, parallelToolCalls: false }), { type: 'none' })
    assert.deepEqual(choice({ parallelToolCalls: false }), { type: 'auto', disable_parallel_tool_use: true })
    assert.equal(choice({ parallelToolCalls: true }), undefined)
  })

  it('are not chosen where there are none', () => {
    const { body } = encode({ toolChoice: { mode: 'auto' }, parallelToolCalls: false })
    assert.deepEqual([body.tools, body.tool_choice], [undefined, undefined])
  })

  it('are only those of a subset that may be called', () => {
    const tools: Call['tools'] = ['f', 'g', 'h'].map(name => ({ kind: 'function', name }))
    const { body } = encode({ tools, toolChoice: { mode: 'subset', names: ['f', 'h'], isRequired: true } })
    assert.deepEqual(
      (body.tools as { name: string }[]).map(tool => tool.name),
      ['f', 'h'],
    )
    assert.deepEqual(body.tool_choice, { type: 'any' })
  })

  it('are named when the history has calls of them, and not called', () => {
    const { body } = encode({ messages: [user(say('Go')), assistant(calling('a')), user(say('Well?'))] })
    assert.deepEqual(body.tools, [{ name: 'f', input_schema: { type: 'object', properties: {} } }])
    assert.deepEqual(body.tool_choice, { type: 'none' })
  })

  it('always have the schema of an object', () => {
    const tools: Call['tools'] = [{ kind: 'function', name: 'f', parameters: { properties: { a: {} } } }]
    assert.deepEqual(encode({ tools }).body.tools, [
      { name: 'f', input_schema: { type: 'object', properties: { a: {} } } },
    ])
  })
})

describe('reasoning of a request', () => {
  const thinking = (fields: Partial<Call>, to: Partial<Target> = {}) => {
    const { body, warnings } = encode(fields, to)
    return [body.thinking, body.output_config, body.max_tokens, warnings.length]
  }
  const effort = { reasoning: { effort: 'high' } }
  const limits = { contextLength: undefined, maxOutputTokens: 10_000 }

  it('is an effort, or nothing', () => {
    assert.deepEqual(thinking(effort), [{ type: 'adaptive' }, { effort: 'high' }, 4096, 0])
    assert.deepEqual(thinking({ reasoning: { effort: 'minimal' } })[1], { effort: 'low' })
    assert.deepEqual(thinking({ reasoning: { effort: 'none' } }), [{ type: 'disabled' }, undefined, 4096, 0])
    assert.deepEqual(thinking({}), [undefined, undefined, 4096, 0])
  })

  it('is a budget for upstreams that know no effort', () => {
    const to = { quirks: { reasoningBudget: true }, limits }
    assert.deepEqual(thinking(effort, to), [{ type: 'enabled', budget_tokens: 6000 }, undefined, 10_000, 0])
    assert.deepEqual(thinking({ reasoning: { effort: 'minimal' } }, to)[0], { type: 'enabled', budget_tokens: 1024 })
    assert.deepEqual(thinking({ reasoning: { effort: 'none' } }, to)[0], { type: 'disabled' })
  })

  it('leaves room for the answer within the maximum', () => {
    const budget = (budgetTokens: number, maxOutputTokens?: number) =>
      thinking({ reasoning: { budgetTokens }, maxOutputTokens })
    assert.deepEqual(budget(2000), [{ type: 'enabled', budget_tokens: 2000 }, undefined, 6096, 0])
    assert.deepEqual(budget(9000, 4000), [{ type: 'enabled', budget_tokens: 3999 }, undefined, 4000, 0])
    assert.deepEqual(budget(100, 4000), [{ type: 'enabled', budget_tokens: 1024 }, undefined, 4000, 0])
    assert.deepEqual(budget(2000, 1000), [undefined, undefined, 1000, 1])
  })

  it('gives way to a forced tool call, and to a loop whose thought is missing', () => {
    for (const toolChoice of [{ mode: 'required' }, { mode: 'tool', name: 'f' }] as const) {
      assert.deepEqual(thinking({ ...effort, tools: TOOLS, toolChoice })[0], { type: 'disabled' })
    }
    const loop = (...parts: Part[]) => ({
      ...effort,
      tools: TOOLS,
      messages: [
        user(say('Go')),
        assistant(...parts, calling('a')),
        { role: 'tool' as const, parts: [resulting('a')] },
      ],
    })
    assert.deepEqual(thinking(loop())[0], { type: 'disabled' })
    assert.deepEqual(thinking(loop({ type: 'reasoning', text: 'x' }))[0], { type: 'disabled' })
    assert.deepEqual(thinking(loop({ type: 'reasoning', text: 'x', signature: 's' }))[0], { type: 'adaptive' })
  })

  it('gives way to an answer that has begun', () => {
    const messages = [user(say('Go')), assistant(say('I'))]
    assert.deepEqual(thinking({ ...effort, messages })[0], { type: 'disabled' })
  })

  it('is shown or not as the client asks', () => {
    const display = (reasoning: Call['reasoning']) => thinking({ reasoning })[0]
    assert.deepEqual(display({ effort: 'low', isShown: true }), { type: 'adaptive', display: 'summarized' })
    assert.deepEqual(display({ budgetTokens: 1024, isShown: false }), {
      type: 'enabled',
      budget_tokens: 1024,
      display: 'omitted',
    })
    assert.equal(display({ isShown: true }), undefined)
  })

  it('leaves no room for sampling', () => {
    const { body, warnings } = encode({ ...effort, temperature: 0.5, topP: 0.5, topK: 5 })
    assert.deepEqual([body.temperature, body.top_p, body.top_k], [undefined, undefined, undefined])
    assert.equal(warnings.length, 3)
    const allowed = encode({ ...effort, temperature: 1, topP: 0.99 }).body
    assert.deepEqual([allowed.temperature, allowed.top_p], [1, 0.99])
    const refused = encode({ temperature: 1 }, { quirks: { sampling: false } })
    assert.deepEqual([refused.body.temperature, refused.warnings.length], [undefined, 1])
  })
})

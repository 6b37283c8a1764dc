import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeRequest } from './decode-request.ts'

const BODY = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hi' }] }

function decode(fields: Record<string, unknown>): Call {
  return decodeRequest({ ...BODY, ...fields })
}

function partsOf(message: Record<string, unknown>): readonly Part[] {
  return decode({ messages: [message] }).messages[0]?.parts ?? []
}

function faultOf(body: unknown): Fault {
  try {
    decodeRequest(body)
  } catch (error) {
    assert.ok(error instanceof Fault, String(error))
    assert.equal(error.code, 'invalid_request')
    return error
  }
  assert.fail('it was accepted')
}

describe('decodeRequest', () => {
  it('reads every field that has a neutral meaning', () => {
    const call = decode({
      temperature: 0,
      top_p: 0.5,
      presence_penalty: -1,
      frequency_penalty: 1,
      max_tokens: 5,
      max_completion_tokens: 7,
      n: 2,
      seed: -3,
      stop: 'end',
      logprobs: true,
      top_logprobs: 3,
      reasoning_effort: 'low',
      verbosity: 'high',
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      translation_options: { source_lang: 'German', target_lang: 'fr' },
      prompt_cache_key: 'k',
      safety_identifier: 'id',
      user: 'old id',
      metadata: { a: 'b' },
      service_tier: 'flex',
      parallel_tool_calls: false,
      stream: true,
      stream_options: { include_usage: true },
    })
    assert.deepEqual(call, {
      model: 'gpt-5',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
      tools: undefined,
      toolChoice: undefined,
      output: undefined,
      temperature: 0,
      topP: 0.5,
      presencePenalty: -1,
      frequencyPenalty: 1,
      maxOutputTokens: 7,
      choices: 2,
      seed: -3,
      stop: ['end'],
      topLogprobs: 3,
      reasoning: { effort: 'low' },
      verbosity: 'high',
      modalities: ['text', 'audio'],
      audioOutput: { voice: 'alloy', format: 'wav' },
      translation: { sourceLanguage: 'German', targetLanguage: 'fr' },
      cacheKey: 'k',
      endUser: 'id',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      parallelToolCalls: false,
      isStream: true,
      wantsStreamUsage: true,
      extensions: {},
    } satisfies Call)
  })

  it('refuses options of a translation that does not say into what, and speech without a voice', () => {
    const cases: [Record<string, unknown>, string, RegExp][] = [
      [{ translation_options: {} }, 'translation_options.target_lang', /required/],
      [{ translation_options: { target_lang: '' } }, 'translation_options.target_lang', /empty/],
      [{ translation_options: { target_lang: 5 } }, 'translation_options.target_lang', /a string/],
      [{ translation_options: { target_lang: 'fr', source_lang: 5 } }, 'translation_options.source_lang', /a string/],
      [{ translation_options: 'fr' }, 'translation_options', /an object/],
      [{ modalities: 'text' }, 'modalities', /an array/],
      [{ modalities: ['text', 5] }, 'modalities[1]', /a string/],
      [{ modalities: ['text', 'audio'] }, 'audio', /required/],
    ]
    for (const [fields, param, problem] of cases) {
      const fault = faultOf({ ...BODY, ...fields })
      assert.equal(fault.param, param)
      assert.match(fault.message, problem)
    }
  })

  it('takes null for not given, as SDKs send it', () => {
    const fields = [
      'temperature',
      'top_p',
      'max_tokens',
      'stop',
      'tools',
      'tool_choice',
      'metadata',
      'n',
      'user',
      'audio',
    ]
    const nulls = Object.fromEntries([...fields, 'stream', 'stream_options', 'x_vendor'].map(name => [name, null]))
    assert.deepEqual(decode(nulls), decodeRequest(BODY))
    assert.deepEqual(partsOf({ role: 'assistant', content: null, refusal: null, tool_calls: null }), [])
  })

  it('keeps fields that it does not know beside the call', () => {
    assert.deepEqual(decode({ logit_bias: { 50256: -100 }, store: true }).extensions, {
      'chat-completions': { logit_bias: { 50256: -100 }, store: true },
    })
  })

  it('asks for log probabilities only when they are switched on', () => {
    assert.equal(decode({ top_logprobs: 5 }).topLogprobs, undefined)
    assert.equal(decode({ logprobs: true }).topLogprobs, 0)
  })

  it('reads media parts, base64 from data URLs included', () => {
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;name=a;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'data:;base64,AAAA' } },
      { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
      { type: 'hologram', hologram: { depth: 3 } },
    ]
    assert.deepEqual(partsOf({ role: 'user', content }), [
      { type: 'text', text: 'Look' },
      { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' }, detail: 'low' },
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { kind: 'base64', mediaType: undefined, data: 'AAAA' } },
      { type: 'video', source: { kind: 'url', url: 'https://example.com/a.mp4' } },
      { type: 'audio', source: { kind: 'base64', mediaType: 'audio/mp3', data: 'BBBB' }, format: 'mp3' },
      { type: 'document', source: { kind: 'file', id: 'file-1' } },
      {
        type: 'document',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'CCCC' },
        filename: 'a.pdf',
      },
      { type: 'opaque', format: 'chat-completions', value: { type: 'hologram', hologram: { depth: 3 } } },
    ] satisfies Part[])
  })

  it('puts reasoning first, then what was said, the refusal, and the tool calls', () => {
    const message = {
      role: 'assistant',
      content: 'a',
      refusal: 'b',
      reasoning_content: 'c',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"x":' } },
        { id: 'call_2', type: 'custom', custom: { name: 'g', input: 'free text' } },
      ],
    }
    assert.deepEqual(partsOf(message), [
      { type: 'reasoning', text: 'c' },
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'b' },
      { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{"x":' },
      { type: 'tool-call', kind: 'custom', id: 'call_2', name: 'g', arguments: 'free text' },
    ] satisfies Part[])
  })

  it('reads what clients of other hosts write instead', () => {
    assert.deepEqual(partsOf({ role: 'user', content: [{ type: 'image_url', image_url: 'https://a.test/x.png' }] }), [
      { type: 'image', source: { kind: 'url', url: 'https://a.test/x.png' } },
    ] satisfies Part[])
    assert.deepEqual(partsOf({ role: 'assistant', reasoning: 'Hm.', content: 'a' }), [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'a' },
    ] satisfies Part[])
    const thinking = [{ type: 'text', text: 'Hm.' }]
    assert.deepEqual(partsOf({ role: 'assistant', content: [{ type: 'thinking', thinking }, { type: 'thinking' }] }), [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'opaque', format: 'chat-completions', value: { type: 'thinking' } },
    ] satisfies Part[])
    assert.deepEqual(decode({ tools: [{ function: { name: 'f' } }], tool_choice: 'any' }).tools, [
      { kind: 'function', name: 'f' },
    ])
    assert.deepEqual(decode({ tool_choice: 'any' }).toolChoice, { mode: 'required' })
  })

  it('reads where the prompt may be cached, as hosts of models that ask for it are told', () => {
    const content = [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'https://a.test/' }, cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'file', file: { file_id: 'f' }, cache_control: { type: 'eternal' } },
    ]
    assert.deepEqual(partsOf({ role: 'user', content }), [
      { type: 'text', text: 'a', cache: {} },
      { type: 'image', source: { kind: 'url', url: 'https://a.test/' }, cache: { ttl: '1h' } },
      { type: 'document', source: { kind: 'file', id: 'f' } },
    ] satisfies Part[])
  })

  it('keeps the fields of a message that it does not know with one of its parts', () => {
    const extensions = { 'chat-completions': { prefix: true } }
    assert.deepEqual(partsOf({ role: 'assistant', content: 'So', prefix: true, audio: null }), [
      { type: 'text', text: 'So', extensions },
    ] satisfies Part[])
    assert.deepEqual(partsOf({ role: 'tool', tool_call_id: 'c', content: 'x', prefix: true }), [
      { type: 'tool-result', callId: 'c', parts: [{ type: 'text', text: 'x' }], extensions },
    ] satisfies Part[])
  })

  it('takes of a tool call only what a tool call has', () => {
    const call = { id: 'call_1', function: { name: 'f', arguments: '{}', type: 'x', kind: 'y', id: 'z', extra: 1 } }
    const legacy = { name: 'g', arguments: '{}', type: 'x', id: 'z' }
    assert.deepEqual(partsOf({ role: 'assistant', tool_calls: [call], function_call: legacy }), [
      { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'tool-call', kind: 'function', id: 'g', name: 'g', arguments: '{}' },
    ] satisfies Part[])
  })

  it('gathers the results of one turn in one message', () => {
    const { messages } = decode({
      messages: [
        { role: 'tool', tool_call_id: 'a', content: '1' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: '2' }] },
        { role: 'user', content: 'And?' },
        { role: 'tool', tool_call_id: 'c', content: '3' },
      ],
    })
    assert.deepEqual(
      messages.map(({ role, parts }) => [
        role,
        parts.map(part => (part.type === 'tool-result' ? part.callId : part.type)),
      ]),
      [
        ['tool', ['a', 'b']],
        ['user', ['text']],
        ['tool', ['c']],
      ],
    )
  })

  it('reads functions and function calls from before there were tools', () => {
    const call = decode({
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'done' },
      ],
    })
    assert.deepEqual(call.tools, [{ kind: 'function', name: 'f', parameters: { type: 'object' } }])
    assert.deepEqual(call.toolChoice, { mode: 'tool', name: 'f' })
    assert.deepEqual(call.messages, [
      { role: 'assistant', parts: [{ type: 'tool-call', kind: 'function', id: 'f', name: 'f', arguments: '{}' }] },
      {
        role: 'tool',
        parts: [{ type: 'tool-result', callId: 'f', name: 'f', parts: [{ type: 'text', text: 'done' }] }],
      },
    ])
    assert.deepEqual(call.extensions, {})
    assert.deepEqual(decode({ function_call: 'none' }).toolChoice, { mode: 'none' })
  })

  it('reads tools, and keeps those that are no functions as they are', () => {
    const custom = { type: 'custom', custom: { name: 'run', format: { type: 'text' } } }
    const { tools } = decode({
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'Finds.', parameters: { type: 'object' }, strict: true },
        },
        { type: 'function', function: { name: 'g', description: null, strict: null } },
        custom,
      ],
    })
    assert.deepEqual(tools, [
      { kind: 'function', name: 'f', description: 'Finds.', parameters: { type: 'object' }, strict: true },
      { kind: 'function', name: 'g' },
      { kind: 'custom', name: 'run' },
    ])
  })

  it('reads every form of tool choice', () => {
    const choices: [unknown, Call['toolChoice']][] = [
      ['auto', { mode: 'auto' }],
      ['none', { mode: 'none' }],
      ['required', { mode: 'required' }],
      [
        { type: 'function', function: { name: 'f' } },
        { mode: 'tool', name: 'f' },
      ],
      [
        { type: 'custom', custom: { name: 'g' } },
        { mode: 'tool', name: 'g' },
      ],
      [
        {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'required',
            tools: [{ type: 'function', function: { name: 'f' } }, { type: 'custom', custom: { name: 'g' } }, 5],
          },
        },
        { mode: 'subset', names: ['f', 'g'], isRequired: true },
      ],
    ]
    for (const [wire, neutral] of choices) assert.deepEqual(decode({ tool_choice: wire }).toolChoice, neutral)
  })

  it('reads every form of output format', () => {
    assert.deepEqual(decode({ response_format: { type: 'text' } }).output, { type: 'text' })
    assert.deepEqual(decode({ response_format: { type: 'json_object' } }).output, { type: 'json' })
    const json_schema = { name: 'answer', description: 'd', strict: true, schema: { type: 'object' } }
    assert.deepEqual(decode({ response_format: { type: 'json_schema', json_schema } }).output, {
      type: 'json-schema',
      ...json_schema,
    })
  })

  it('names the field that is at fault', () => {
    const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
    const wrong: [Record<string, unknown>, string][] = [
      [{ model: '' }, 'model'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'user' }, { content: 'Hi' }] }, 'messages[1].role'],
      [{ messages: [{ role: 'narrator', content: 'Hi' }] }, 'messages[0].role'],
      [user(5), 'messages[0].content'],
      [user([{ text: 'x' }]), 'messages[0].content[0].type'],
      [user([{ type: 'text' }]), 'messages[0].content[0].text'],
      [user([{ type: 'text', text: 'x' }, { type: 'image_url' }]), 'messages[0].content[1].image_url'],
      [user([{ type: 'image_url', image_url: {} }]), 'messages[0].content[0].image_url.url'],
      [user([{ type: 'input_audio', input_audio: { data: 'x' } }]), 'messages[0].content[0].input_audio.format'],
      [user([{ type: 'file', file: {} }]), 'messages[0].content[0].file.file_data'],
      [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
      [{ messages: [{ role: 'assistant', tool_calls: [{ id: 'x' }] }] }, 'messages[0].tool_calls[0].function'],
      [{ temperature: 3 }, 'temperature'],
      [{ n: 0 }, 'n'],
      [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
      [{ tool_choice: { type: 'function', function: {} } }, 'tool_choice.function.name'],
    ]
    for (const [fields, param] of wrong) assert.equal(faultOf({ ...BODY, ...fields }).param, param)
  })

  it('takes the names of built-in properties for what they are: unknown roles and unknown part types', () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty', '__proto__']) {
      assert.equal(faultOf({ ...BODY, messages: [{ role: name, content: 'Hi' }] }).param, 'messages[0].role')
      assert.deepEqual(partsOf({ role: 'user', content: [{ type: name }] }), [
        { type: 'opaque', format: 'chat-completions', value: { type: name } },
      ])
    }
  })
})

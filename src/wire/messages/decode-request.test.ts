import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeRequest } from './decode-request.ts'

const BODY = { model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }

function decode(fields: Record<string, unknown>): Call {
  return decodeRequest({ ...BODY, ...fields })
}

function partsOf(role: string, ...content: unknown[]): readonly Part[] {
  return decode({ messages: [{ role, content }] }).messages.flatMap(message => message.parts)
}

function faultOf(fields: Record<string, unknown>): Fault {
  try {
    decode(fields)
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
      system: 'Be brief.',
      temperature: 0,
      top_p: 0.5,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      stream: true,
    })
    assert.deepEqual(call, {
      model: 'claude',
      messages: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      ],
      tools: undefined,
      toolChoice: { mode: 'required' },
      parallelToolCalls: false,
      output: { type: 'json-schema', schema: { type: 'object' } },
      maxOutputTokens: 10,
      temperature: 0,
      topP: 0.5,
      topK: 5,
      stop: ['END'],
      reasoning: { effort: 'high', budgetTokens: 2000 },
      endUser: 'u',
      serviceTier: 'default',
      isStream: true,
      wantsStreamUsage: true,
      extensions: {},
    } satisfies Call)
  })

  it('takes null for not given', () => {
    const fields = ['system', 'temperature', 'top_k', 'stop_sequences', 'tools', 'tool_choice', 'thinking', 'stream']
    const nulls = Object.fromEntries([...fields, 'metadata', 'output_config', 'container'].map(name => [name, null]))
    assert.deepEqual(decode(nulls), decodeRequest(BODY))
  })

  it('keeps fields that it does not know beside the call, also what is left of known ones', () => {
    const fields = {
      container: 'c',
      cache_control: { type: 'ephemeral' },
      metadata: { user_id: 'u', x: 1 },
      output_config: { task_budget: 5 },
      thinking: { type: 'enabled', budget_tokens: 1024, display: 'sung' },
    }
    const { metadata: _, ...same } = fields
    assert.deepEqual(decode(fields).extensions, { messages: { ...same, metadata: { x: 1 } } })
  })

  it('reads the schema of the output also where trials of the API had it', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const expected = { type: 'json-schema', schema: { type: 'object' } }
    const { output, extensions } = decode({ output_format: format })
    assert.deepEqual(output, expected)
    assert.deepEqual(extensions, {})
    assert.deepEqual(decode({ output_config: { format }, output_format: { type: 'x' } }).output, expected)
  })

  it('reads how to think in any of its forms, and forgets none', () => {
    const forms: [object, Call['reasoning'], Call['extensions'][string] | undefined][] = [
      [{ thinking: { type: 'disabled' } }, { effort: 'none' }, undefined],
      [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, { effort: 'max' }, undefined],
      [{ thinking: { type: 'adaptive' } }, {}, { thinking: { type: 'adaptive' } }],
      [
        { thinking: { type: 'enabled', budget_tokens: 9, display: 'omitted' } },
        { budgetTokens: 9, isShown: false },
        undefined,
      ],
      [{ thinking: { type: 'between_tools' } }, undefined, { thinking: { type: 'between_tools' } }],
      [{ output_config: { effort: 'low' } }, { effort: 'low' }, { output_config: { effort: 'low' } }],
      [
        { thinking: { type: 'disabled' }, output_config: { effort: 'low' } },
        { effort: 'none' },
        { output_config: { effort: 'low' } },
      ],
    ]
    for (const [fields, reasoning, own] of forms) {
      const call = decode({ ...fields })
      assert.deepEqual([call.reasoning, call.extensions.messages], [reasoning, own])
    }
  })

  it('reads blocks with their cache breakpoints and what only this format knows of them', () => {
    const parts = partsOf(
      'user',
      { type: 'text', text: 'Look', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' }, cache_control: null },
      { type: 'image', source: { type: 'url', url: 'https://a.example' }, cache_control: { type: 'ephemeral' } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' }, transformations: [] },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }, title: 'A' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'é' }, citations: { enabled: true } },
    )
    assert.deepEqual(parts, [
      { type: 'text', text: 'Look', cache: { ttl: '1h' } },
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { kind: 'url', url: 'https://a.example' }, cache: {} },
      { type: 'image', source: { kind: 'file', id: 'file_1' }, extensions: { messages: { transformations: [] } } },
      { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: 'BBBB' }, filename: 'A' },
      {
        type: 'document',
        source: { kind: 'base64', mediaType: 'text/plain', data: 'w6k=' },
        extensions: { messages: { citations: { enabled: true } } },
      },
    ] satisfies Part[])
  })

  it('keeps blocks that it does not know as they are', () => {
    const blocks = [
      { type: 'search_result', source: 's', title: 't', content: [] },
      { type: 'server_tool_use', id: 'a', name: 'web_search', input: {} },
      { type: 'document', source: { type: 'content', content: 'x' } },
      ...['constructor', 'toString', '__proto__'].map(type => ({ type })),
    ]
    assert.deepEqual(
      partsOf('user', ...blocks),
      blocks.map(value => ({ type: 'opaque', format: 'messages', value })),
    )
  })

  it('reads an assistant turn in its order, thoughts with their seals', () => {
    const parts = partsOf(
      'assistant',
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'thinking', thinking: 'Ours.', signature: '' },
      { type: 'redacted_thinking', data: 'e' },
      { type: 'text', text: 'So.', citations: null },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: [1] }, caller: { type: 'direct' } },
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Hm.', signature: 's' },
      { type: 'reasoning', text: 'Ours.' },
      { type: 'reasoning', text: '', encrypted: 'e' },
      { type: 'text', text: 'So.' },
      {
        type: 'tool-call',
        kind: 'function',
        id: 'a',
        name: 'f',
        arguments: '{"x":[1]}',
        extensions: { messages: { caller: { type: 'direct' } } },
      },
    ] satisfies Part[])
  })

  it('gives the results of a user message one of their own, before the rest', () => {
    const { messages } = decode({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Here:' },
            { type: 'tool_result', tool_use_id: 'a', content: 'one', is_error: false },
            { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'two' }], cache_control: null },
            { type: 'tool_result', tool_use_id: 'c' },
          ],
        },
      ],
    })
    assert.deepEqual(messages, [
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'one' }], isError: false },
          { type: 'tool-result', callId: 'b', parts: [{ type: 'text', text: 'two' }] },
          { type: 'tool-result', callId: 'c', parts: [] },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'Here:' }] },
    ])
  })

  it('reads tools, and keeps those of the provider as they are', () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 }
    const { tools } = decode({
      tools: [
        { type: 'custom', name: 'f', description: 'Finds.', input_schema: { type: 'object' }, strict: true },
        { name: 'g', cache_control: { type: 'ephemeral' }, defer_loading: true },
        search,
      ],
    })
    assert.deepEqual(tools, [
      { kind: 'function', name: 'f', description: 'Finds.', parameters: { type: 'object' }, strict: true },
      { kind: 'function', name: 'g', cache: {}, extensions: { messages: { defer_loading: true } } },
      { kind: 'opaque', format: 'messages', value: search },
    ])
  })

  it('reads every form of tool choice', () => {
    const choices: [object, Call['toolChoice'], boolean | undefined][] = [
      [{ type: 'auto' }, { mode: 'auto' }, undefined],
      [{ type: 'auto', disable_parallel_tool_use: false }, { mode: 'auto' }, true],
      [{ type: 'any', disable_parallel_tool_use: true }, { mode: 'required' }, false],
      [{ type: 'tool', name: 'f' }, { mode: 'tool', name: 'f' }, undefined],
      [{ type: 'none' }, { mode: 'none' }, undefined],
    ]
    for (const [wire, choice, parallel] of choices) {
      const call = decode({ tool_choice: wire })
      assert.deepEqual([call.toolChoice, call.parallelToolCalls], [choice, parallel])
    }
  })

  it('names the field that is at fault', () => {
    const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
    const result = (...content: unknown[]) => user({ type: 'tool_result', tool_use_id: 'a', content })
    const wrong: [Record<string, unknown>, string][] = [
      [{ model: '' }, 'model'],
      [{ max_tokens: undefined }, 'max_tokens'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
      [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
      [user({ text: 'x' }), 'messages[0].content[0].type'],
      [user({ type: 'text' }), 'messages[0].content[0].text'],
      [user({ type: 'image' }), 'messages[0].content[0].source.type'],
      [user({ type: 'image', source: { type: 'url' } }), 'messages[0].content[0].source.url'],
      [result({ type: 'text', text: 'x' }, { type: 'text' }), 'messages[0].content[0].content[1].text'],
      [user({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id'],
      [{ system: [{ type: 'text' }] }, 'system[0].text'],
      [{ temperature: 2 }, 'temperature'],
      [{ tools: [{ input_schema: {} }] }, 'tools[0].name'],
      [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    ]
    for (const [fields, param] of wrong) assert.equal(faultOf(fields).param, param)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Message, Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeRequest } from './decode-request.ts'

const BODY = { model: 'gpt-5', input: 'Hi' }

function decode(fields: Record<string, unknown>): Call {
  return decodeRequest({ ...BODY, ...fields })
}

function messagesOf(...input: unknown[]): readonly Message[] {
  return decode({ input }).messages
}

function partsOf(...content: unknown[]): readonly Part[] {
  return messagesOf({ role: 'user', content })[0]?.parts ?? []
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

const given = (call: Call) => Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))

describe('decodeRequest', () => {
  it('reads every field that has a neutral meaning', () => {
    const call = decode({
      instructions: 'Be brief.',
      max_output_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      top_logprobs: 3,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_object' }, verbosity: 'high' },
      tool_choice: 'required',
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      safety_identifier: 'id',
      user: 'old id',
      metadata: { a: 'b' },
      service_tier: 'flex',
      stream: true,
    })
    assert.deepEqual(given(call), {
      model: 'gpt-5',
      messages: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      ],
      toolChoice: { mode: 'required' },
      parallelToolCalls: false,
      output: { type: 'json' },
      maxOutputTokens: 7,
      temperature: 0,
      topP: 0.5,
      topLogprobs: 3,
      reasoning: { effort: 'low', isShown: true },
      verbosity: 'high',
      cacheKey: 'k',
      endUser: 'id',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      isStream: true,
      wantsStreamUsage: true,
      extensions: { responses: {} },
    })
  })

  it('keeps a kind of summary that no other format has', () => {
    const { reasoning, extensions } = decode({ reasoning: { summary: 'detailed' } })
    assert.deepEqual([reasoning, extensions.responses], [{ isShown: true }, { reasoning: { summary: 'detailed' } }])
  })

  it('takes null for not given', () => {
    const nulls = Object.fromEntries(
      ['instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'include', 'temperature', 'metadata', 'user', 'x']
        .concat('max_output_tokens', 'top_logprobs', 'stream', 'previous_response_id', 'store', 'parallel_tool_calls')
        .map(field => [field, null]),
    )
    assert.deepEqual(given(decode(nulls)), given(decode({})))
    assert.deepEqual(decode(nulls).extensions, { responses: {} })
  })

  it('carries what only the format knows, and takes out of what is to be included what other formats have words for', () => {
    const own = { prompt: { id: 'pmpt_1' }, truncation: 'auto', x_new: [1] }
    const include = ['message.output_text.logprobs', 'reasoning.encrypted_content', 'file_search_call.results']
    const call = decode({ ...own, include, text: { x_style: 1 } })
    assert.deepEqual(call.extensions, {
      responses: { ...own, include: ['file_search_call.results'], text: { x_style: 1 } },
    })
    assert.equal(call.topLogprobs, 0)
  })

  it('leaves what is the gateway’s affair behind: what it keeps, and what it has kept', () => {
    assert.deepEqual(decode({ store: true, previous_response_id: 'resp_0' }).extensions, { responses: {} })
  })

  it('needs no input where the prompt is kept elsewhere', () => {
    assert.deepEqual(decodeRequest({ model: 'm', previous_response_id: 'resp_0' }).messages, [])
    assert.deepEqual(decodeRequest({ model: 'm', prompt: { id: 'pmpt_1' } }).messages, [])
    assert.equal(faultOf({ model: 'm' }).param, 'input')
  })

  it('names the field at fault', () => {
    const cases: [unknown[], string][] = [
      [[{ role: 'robot', content: 'x' }], 'input[0].role'],
      [[{ content: 'x' }], 'input[0].role'],
      [[{ type: 'function_call', name: 'f', arguments: '' }], 'input[0].call_id'],
      [[{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }], 'input[0].arguments'],
      [
        [
          { role: 'user', content: 'x' },
          { type: 'function_call_output', output: '' },
        ],
        'input[1].call_id',
      ],
      [[{ role: 'user', content: [{ type: 'input_text' }] }], 'input[0].content[0].text'],
      [[{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text' }] }], 'input[0].output[0].text'],
    ]
    for (const [input, param] of cases) assert.equal(faultOf({ model: 'm', input }).param, param)
    assert.equal(faultOf({ ...BODY, tools: [{ type: 'function' }] }).param, 'tools[0].name')
    assert.equal(faultOf({ ...BODY, tool_choice: { type: 'function' } }).param, 'tool_choice.name')
    assert.equal(faultOf({ ...BODY, text: { format: { type: 'json_schema' } } }).param, 'text.format.schema')
  })
})

describe('decodeRequest, of items', () => {
  it('puts the items of one turn into one message, and results of tools into another', () => {
    const messages = messagesOf(
      { role: 'user', content: 'Find it.' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'sealed' },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'One moment.', annotations: [], logprobs: [] }],
      },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'find', arguments: '', status: 'completed' },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'run', input: 'ls' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'one' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'two' }] },
      { role: 'user', content: 'And?' },
      { role: 'user', content: 'Well?' },
    )
    assert.deepEqual(messages, [
      { role: 'user', parts: [{ type: 'text', text: 'Find it.' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.', encrypted: 'sealed' },
          { type: 'text', text: 'One moment.' },
          { type: 'tool-call', kind: 'function', id: 'call_1', name: 'find', arguments: '' },
          { type: 'tool-call', kind: 'custom', id: 'call_2', name: 'run', arguments: 'ls' },
        ],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'call_1', parts: [{ type: 'text', text: 'one' }] },
          { type: 'tool-result', callId: 'call_2', parts: [{ type: 'text', text: 'two' }] },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'And?' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Well?' }] },
    ])
  })

  it('keeps what sets two messages of a turn apart', () => {
    const message = (phase: string) => ({ role: 'assistant', phase, content: phase })
    const part = (phase: string) => ({ type: 'text', text: phase, extensions: { responses: { item: { phase } } } })
    assert.deepEqual(messagesOf(message('commentary'), message('final_answer')), [
      { role: 'assistant', parts: [part('commentary'), part('final_answer')] },
    ])
  })

  it('keeps texts of a thought that are not one summary as they came', () => {
    const content = [{ type: 'reasoning_text', text: 'b' }]
    const summary = [{ type: 'summary_text', text: 'a' }]
    assert.deepEqual(messagesOf({ type: 'reasoning', summary, content })[0]?.parts, [
      { type: 'reasoning', text: 'a\n\nb', extensions: { responses: { summary, content } } },
    ])
  })

  it('passes on opaquely what only this format knows, where it stands', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    const screenshot = { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot' } }
    const reference = { type: 'item_reference', id: 'msg_1' }
    const opaque = (value: unknown) => ({ type: 'opaque', format: 'responses', value })
    assert.deepEqual(messagesOf(search, reference, screenshot), [
      { role: 'assistant', parts: [opaque(search), opaque(reference)] },
      { role: 'tool', parts: [opaque(screenshot)] },
    ])
    const part = { type: 'x_unheard_of', x: 1 }
    assert.deepEqual(partsOf(part), [opaque(part)])
    assert.deepEqual(messagesOf({ role: 'assistant', id: 'msg_1', content: [part] })[0]?.parts, [
      opaque({ role: 'assistant', content: [part] }),
    ])
  })

  it('takes no type for one of the words that every object knows', () => {
    for (const type of ['constructor', '__proto__', 'toString']) {
      assert.deepEqual(messagesOf({ type })[0]?.parts, [{ type: 'opaque', format: 'responses', value: { type } }])
      assert.deepEqual(partsOf({ type }), [{ type: 'opaque', format: 'responses', value: { type } }])
    }
  })

  it('remembers that a result belongs to a custom tool when the call is not there to tell', () => {
    const output = { type: 'custom_tool_call_output', call_id: 'c', output: '' }
    assert.deepEqual(messagesOf(output)[0]?.parts, [
      {
        type: 'tool-result',
        callId: 'c',
        parts: [{ type: 'text', text: '' }],
        extensions: { responses: { type: 'custom_tool_call_output' } },
      },
    ])
  })

  it('reads media from data URLs, links and files', () => {
    assert.deepEqual(
      partsOf(
        { type: 'input_image', image_url: 'data:image/png;charset=x;base64,AA==', detail: 'low' },
        { type: 'input_image', file_id: 'file_1', image_url: null },
        { type: 'input_file', file_url: 'https://example.com/a.pdf' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'mp3' } },
      ),
      [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' }, detail: 'low' },
        { type: 'image', source: { kind: 'file', id: 'file_1' } },
        { type: 'document', source: { kind: 'url', url: 'https://example.com/a.pdf' } },
        {
          type: 'document',
          source: { kind: 'base64', mediaType: 'application/pdf', data: 'AA==' },
          filename: 'a.pdf',
        },
        { type: 'audio', source: { kind: 'base64', mediaType: 'audio/mp3', data: 'AA==' }, format: 'mp3' },
      ],
    )
  })
})

describe('decodeRequest, of tools', () => {
  it('reads flat functions, and passes every other tool on', () => {
    const search = { type: 'web_search', filters: {} }
    const { tools } = decode({
      tools: [
        { type: 'function', name: 'f', description: 'x', parameters: { type: 'object' }, strict: true },
        { type: 'function', name: 'g', parameters: null, strict: null, defer_loading: true },
        search,
      ],
    })
    assert.deepEqual(tools, [
      { kind: 'function', name: 'f', description: 'x', parameters: { type: 'object' }, strict: true },
      { kind: 'function', name: 'g', extensions: { responses: { defer_loading: true } } },
      { kind: 'opaque', format: 'responses', value: search },
    ])
  })

  it('reads flat choices, and carries one among the tools of the upstream', () => {
    const choose = (tool_choice: unknown) => {
      const { toolChoice, extensions } = decode({ tool_choice })
      return toolChoice ?? extensions.responses?.tool_choice
    }
    const allowed = (...tools: unknown[]) => ({ type: 'allowed_tools', mode: 'auto', tools })
    assert.deepEqual(choose('none'), { mode: 'none' })
    assert.deepEqual(choose({ type: 'function', name: 'f' }), { mode: 'tool', name: 'f' })
    assert.deepEqual(choose({ type: 'custom', name: 'g' }), { mode: 'tool', name: 'g' })
    const subset = { mode: 'subset', names: ['f'], isRequired: false }
    assert.deepEqual(choose(allowed({ type: 'function', name: 'f' })), subset)
    for (const other of [{ type: 'web_search' }, { type: 'mcp', server_label: 'x' }, allowed({ type: 'mcp' })]) {
      assert.deepEqual(choose(other), other)
    }
  })

  it('reads a flat schema for the output', () => {
    const format = { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true, description: null }
    assert.deepEqual(decode({ text: { format } }).output, {
      type: 'json-schema',
      name: 'x',
      schema: { type: 'object' },
      strict: true,
    })
  })
})

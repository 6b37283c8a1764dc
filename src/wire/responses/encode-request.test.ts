import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Part } from '#core/call.ts'
import { anyResponsesCall } from '../../../test/support/arbitrary-responses.ts'
import { target } from '../../../test/support/target.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

/** A call of this format, as its (empty) extensions show. */
const CALL: Call = {
  model: 'public-model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  isStream: false,
  wantsStreamUsage: false,
  extensions: { responses: {} },
}

function encode(fields: Partial<Call>) {
  return encodeRequest({ ...CALL, ...fields }, target())
}

/** As it travels: undefined fields and values that JSON does not have are gone. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('encodeRequest', () => {
  it('is undone by decodeRequest for every call that the format can carry', () => {
    fc.assert(
      fc.property(anyResponsesCall, call => {
        const { body, warnings } = encodeRequest(
          call,
          target({ upstreamModel: call.model, quirks: { encryptedReasoning: false } }),
        )
        assert.equal(body.store, false)
        assert.deepEqual(overTheWire(decodeRequest(overTheWire(body))), overTheWire(call))
        assert.deepEqual(warnings, [])
      }),
      { numRuns: 500 },
    )
  })

  it('names the model as the upstream does and sends a lone text as a string', () => {
    assert.deepEqual(encode({}), {
      body: { store: false, model: 'upstream-model', input: [{ role: 'user', content: 'Hi' }] },
      warnings: [],
    })
  })

  it('sends a system prompt in front as instructions, and any other one in its place', () => {
    const { body } = encode({
      messages: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'system', parts: [{ type: 'text', text: 'Be long.' }] },
      ],
    })
    assert.deepEqual(
      [body.instructions, body.input],
      [
        'Be brief.',
        [
          { role: 'user', content: 'Hi' },
          { role: 'system', content: 'Be long.' },
        ],
      ],
    )
  })

  it('writes out a turn with its reasoning, calls and results as items, each result of the kind of its call', () => {
    const { body, warnings } = encode({
      messages: [
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'Look it up.', encrypted: 'sealed' },
            { type: 'text', text: 'One moment.' },
            { type: 'tool-call', kind: 'function', id: 'call_1', name: 'find', arguments: '{"q":' },
            { type: 'tool-call', kind: 'custom', id: 'call_2', name: 'run', arguments: 'ls' },
          ],
        },
        {
          role: 'tool',
          parts: [
            { type: 'tool-result', callId: 'call_1', parts: [{ type: 'text', text: 'one' }] },
            {
              type: 'tool-result',
              callId: 'call_2',
              parts: [
                { type: 'text', text: 'a' },
                { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' } },
              ],
            },
          ],
        },
      ],
    })
    assert.deepEqual(body.input, [
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Look it up.' }],
        encrypted_content: 'sealed',
      },
      { role: 'assistant', content: 'One moment.' },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"q":' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'run', input: 'ls' },
      { type: 'function_call_output', call_id: 'call_1', output: 'one' },
      {
        type: 'custom_tool_call_output',
        call_id: 'call_2',
        output: [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
        ],
      },
    ])
    assert.deepEqual(warnings, [])
  })

  it('sends a thought of another format only with its seal, which it then wants back, too', () => {
    const parts: Part[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning', text: 'Well.', encrypted: 'sealed' },
      { type: 'text', text: 'Hi' },
    ]
    const { body, warnings } = encode({ extensions: {}, messages: [{ role: 'assistant', parts }] })
    assert.deepEqual(body.input, [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Well.' }], encrypted_content: 'sealed' },
      { role: 'assistant', content: 'Hi' },
    ])
    assert.deepEqual(body.include, ['reasoning.encrypted_content'])
    assert.deepEqual(warnings, ['reasoning without its seal has no equivalent in responses'])
  })

  it('says how to think in the words of other formats', () => {
    const control = (reasoning: Call['reasoning']) => encode({ extensions: {}, reasoning }).body.reasoning
    assert.deepEqual(control({ budgetTokens: 20_000 }), { effort: 'high' })
    assert.deepEqual(control({ effort: 'low', isShown: true }), { effort: 'low', summary: 'auto' })
    assert.equal(control({ isShown: false }), undefined)
  })

  it('has nothing stored, and reasoning sealed unless the host cannot do it', () => {
    const { body } = encode({
      extensions: {},
      reasoning: { effort: 'low' },
      tools: [{ kind: 'function', name: 'f' }],
    })
    assert.equal(body.store, false)
    assert.deepEqual(body.include, ['reasoning.encrypted_content'])
    assert.deepEqual(body.tools, [{ type: 'function', name: 'f', parameters: null, strict: false }])
    assert.equal('include' in encode({ extensions: {}, reasoning: { effort: 'none' } }).body, false)
    assert.equal('include' in encode({ extensions: {} }).body, false)
    assert.deepEqual(encode({ tools: [{ kind: 'function', name: 'f' }] }).body.tools, [
      { type: 'function', name: 'f', parameters: null },
    ])
  })

  it('asks for summaries of thoughts that are to be shown', () => {
    assert.deepEqual(encode({ reasoning: { effort: 'low', isShown: true } }).body.reasoning, {
      effort: 'low',
      summary: 'auto',
    })
    assert.deepEqual(encode({ reasoning: { effort: 'low', isShown: false } }).body.reasoning, { effort: 'low' })
  })

  it('names a custom tool as one where it is chosen', () => {
    const tools = [{ kind: 'custom' as const, name: 'run' }]
    const choose = (toolChoice: Call['toolChoice']) => encode({ tools, toolChoice }).body.tool_choice
    assert.deepEqual(choose({ mode: 'tool', name: 'run' }), { type: 'custom', name: 'run' })
    assert.deepEqual(choose({ mode: 'subset', names: ['run', 'f'], isRequired: true }), {
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'custom', name: 'run' },
        { type: 'function', name: 'f' },
      ],
    })
  })

  it('never drops a call or its result, wherever another format put them', () => {
    const { body } = encode({
      messages: [
        {
          role: 'user',
          parts: [
            { type: 'tool-result', callId: 'c', parts: [] },
            { type: 'text', text: 'And now?' },
          ],
        },
        { role: 'tool', parts: [{ type: 'text', text: 'stray' }] },
      ],
    })
    assert.deepEqual(body.input, [
      { type: 'function_call_output', call_id: 'c', output: [] },
      { role: 'user', content: 'And now?' },
      { role: 'user', content: 'stray' },
    ])
  })

  it('leaves out what the format cannot say, and says so', () => {
    const video: Part = { type: 'video', source: { kind: 'url', url: 'https://example.com/v.mp4' } }
    const foreign: Part = { type: 'opaque', format: 'messages', value: { type: 'redacted_thinking' } }
    const { body, warnings } = encode({
      topK: 40,
      seed: 1,
      stop: ['x'],
      choices: 2,
      presencePenalty: 1,
      frequencyPenalty: 1,
      modalities: ['text', 'audio'],
      audioOutput: { voice: 'alloy', format: 'wav' },
      reasoning: { effort: 'high', budgetTokens: 1024 },
      tools: [
        { kind: 'opaque', format: 'messages', value: { type: 'computer' } },
        { kind: 'function', name: 'f', strict: true },
      ],
      messages: [
        { role: 'user', name: 'Ann', parts: [{ type: 'text', text: 'Hi', cache: {} }, video, video, foreign] },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'Hm.', signature: 's' },
            { type: 'tool-call', kind: 'function', id: 'c', name: 'f', arguments: '', signature: 's' },
            { type: 'image', source: { kind: 'file', id: 'x' }, extensions: { messages: { y: 1 } } },
          ],
        },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'c', name: 'f', parts: [video], isError: true }] },
      ],
      extensions: { messages: { container: 'x' }, responses: { x_kept: 1 } },
    })
    assert.deepEqual(body, {
      x_kept: 1,
      store: false,
      model: 'upstream-model',
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '' },
        { type: 'function_call_output', call_id: 'c', output: [] },
      ],
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'f', parameters: null, strict: true }],
      reasoning: { effort: 'high' },
    })
    const lost = [
      'a part of messages',
      'a video part',
      "a thought's signature",
      'a tool of messages',
      "a tool call's signature",
      'an image part',
      'audio',
      'cache_control',
      'container',
      'frequency_penalty',
      'modalities',
      'n',
      'name',
      'presence_penalty',
      'seed',
      'stop',
      'the error flag of a tool result',
      'top_k',
      'y',
    ]
    assert.deepEqual(warnings.toSorted(), lost.map(each => `${each} has no equivalent in responses`).toSorted())
  })

  it('takes what means nothing here for no loss', () => {
    assert.deepEqual(encode({ stop: [], choices: 1, modalities: ['text'] }).warnings, [])
    const result: Part = { type: 'tool-result', callId: 'c', name: 'f', parts: [] }
    assert.deepEqual(encode({ messages: [{ role: 'tool', parts: [result] }] }).warnings, [])
  })
})

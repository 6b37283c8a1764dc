import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Part } from '#core/call.ts'
import { call as anyCall } from '../../../test/support/arbitrary-call.ts'
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

function encode(fields: Partial<Call>, quirks = {}) {
  return encodeRequest({ ...CALL, ...fields }, target({ quirks }))
}

/** As it travels: undefined fields and values that JSON does not have are gone. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
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

  it('names the model as the upstream does and sends a lone text as a string', () => {
    assert.deepEqual(encode({}), {
      body: { model: 'upstream-model', messages: [{ role: 'user', content: 'Hi' }] },
      warnings: [],
    })
  })

  it('asks a stream for its usage whatever the client wanted, unless the upstream refuses that', () => {
    const { body } = encode({ isStream: true })
    assert.deepEqual([body.stream, body.stream_options], [true, { include_usage: true }])
    const refusing = encode({ isStream: true, wantsStreamUsage: true }, { streamOptions: false })
    assert.equal('stream_options' in refusing.body, false)
  })

  it('writes out an assistant turn with its reasoning and tool calls, and a message for each result', () => {
    const { body } = encode({
      messages: [
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'Look it up.' },
            { type: 'tool-call', kind: 'function', id: 'call_1', name: 'find', arguments: '{"q":1}' },
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
                { type: 'text', text: 'b' },
              ],
            },
          ],
        },
      ],
    })
    assert.deepEqual(body.messages, [
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'Look it up.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'ls' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  it('says so when it leaves out where the prompt may be cached', () => {
    const parts: Part[] = [{ type: 'text', text: 'Long', cache: { ttl: '1h' } }]
    const { body, warnings } = encode({ messages: [{ role: 'user', parts }] })
    assert.deepEqual(body.messages, [{ role: 'user', content: 'Long' }])
    assert.deepEqual(warnings, ['cache_control has no equivalent in chat-completions'])
  })

  it('gives a message the fields back that only this format knows', () => {
    const extensions = { 'chat-completions': { prefix: true } }
    const result: Part = { type: 'tool-result', callId: 'c', parts: [{ type: 'text', text: 'x' }], extensions }
    const { body } = encode({
      messages: [
        { role: 'assistant', parts: [{ type: 'text', text: 'So', extensions }] },
        { role: 'tool', parts: [result] },
      ],
    })
    assert.deepEqual(body.messages, [
      { prefix: true, role: 'assistant', content: 'So' },
      { prefix: true, role: 'tool', tool_call_id: 'c', content: 'x' },
    ])
  })

  it('says so when it leaves out what another format knows about a part or a tool', () => {
    const extensions = { responses: { phase: 'commentary' } }
    const { warnings } = encode({
      tools: [{ kind: 'function', name: 'f', extensions: { responses: { defer_loading: true } } }],
      messages: [
        { role: 'assistant', parts: [{ type: 'text', text: 'Hi', extensions }] },
        {
          role: 'tool',
          parts: [
            {
              type: 'tool-result',
              callId: 'c',
              parts: [{ type: 'text', text: 'x', extensions: { responses: { x: 1 }, 'chat-completions': { y: 1 } } }],
            },
          ],
        },
      ],
    })
    assert.deepEqual(warnings, [
      'defer_loading has no equivalent in chat-completions',
      'phase has no equivalent in chat-completions',
      'x has no equivalent in chat-completions',
    ])
  })

  it('makes of a budget the effort that comes nearest to it', () => {
    const effort = (reasoning: Call['reasoning']) => encode({ reasoning }).body.reasoning_effort
    assert.equal(effort({ budgetTokens: 10_000 }), 'medium')
    assert.equal(effort({ budgetTokens: 10_000, effort: 'low' }), 'low')
    assert.equal(effort({ isShown: true }), undefined)
  })

  it('leaves out what the format cannot say, and says so', () => {
    const image: Part = { type: 'image', source: { kind: 'file', id: 'f' } }
    const foreign: Part = { type: 'opaque', format: 'messages', value: { type: 'redacted_thinking' } }
    const { body, warnings } = encode({
      topK: 40,
      reasoning: { effort: 'high', budgetTokens: 1024, isShown: true },
      tools: [
        { kind: 'opaque', format: 'messages', value: { type: 'computer' } },
        { kind: 'function', name: 'f' },
      ],
      messages: [
        {
          role: 'user',
          parts: [{ type: 'text', text: 'Hi', extensions: { messages: { x_part: 1 } } }, image, image, foreign],
        },
        {
          role: 'tool',
          parts: [
            { type: 'tool-result', callId: 'c', parts: [image, foreign], isError: true },
            { type: 'text', text: 'stray' },
          ],
        },
      ],
      extensions: { messages: { container: 'x' }, 'chat-completions': { x_kept: 1 } },
    })
    assert.deepEqual(body, {
      x_kept: 1,
      model: 'upstream-model',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'tool', tool_call_id: 'c', content: [] },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
      reasoning_effort: 'high',
    })
    assert.deepEqual(warnings.toSorted(), [
      'a part of messages has no equivalent in chat-completions',
      'a part of messages in a tool result has no equivalent in chat-completions',
      'a text part among tool results has no equivalent in chat-completions',
      'a tool of messages has no equivalent in chat-completions',
      'an image part has no equivalent in chat-completions',
      'an image part in a tool result has no equivalent in chat-completions',
      'container has no equivalent in chat-completions',
      'showing reasoning has no equivalent in chat-completions',
      'the error flag of a tool result has no equivalent in chat-completions',
      'top_k has no equivalent in chat-completions',
      'x_part has no equivalent in chat-completions',
    ])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { decodeFrame, encodeFrame } from '#wire/sse/frame.ts'
import { FrameSplitter } from '#wire/sse/split.ts'
import { anyResult, streamEvents } from '../../../test/support/arbitrary-messages.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeResponse } from './encode-response.ts'

type Json = Record<string, unknown>

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], stop_reason: null }
const USAGE = {
  input_tokens: 25,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 5,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
  output_tokens: 1,
}
const START: Json = { type: 'message_start', message: { ...MESSAGE, usage: USAGE } }
const STOP: Json = { type: 'message_stop' }

const begin = (content_block: Json, index = 0): Json => ({ type: 'content_block_start', index, content_block })
const delta = (fields: Json, index = 0): Json => ({ type: 'content_block_delta', index, delta: fields })
const stop = (index = 0): Json => ({ type: 'content_block_stop', index })
const says = (text: string, index = 0) => delta({ type: 'text_delta', text }, index)
const writes = (partial_json: string, index = 0) => delta({ type: 'input_json_delta', partial_json }, index)
const end = (stop_reason: unknown = 'end_turn', usage: Json = { output_tokens: 15 }): Json => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
})

function decode(...events: (Json | string)[]): CallEvent[] {
  const decoder = decodeStream()
  const decoded = events.flatMap(event =>
    typeof event === 'string'
      ? decoder.push({ event: undefined, data: event })
      : decoder.push({ event: String(event.type), data: JSON.stringify(event) }),
  )
  return [...decoded, ...decoder.end()]
}

function partsOf(...events: Json[]): readonly Part[] {
  return collectEvents(decode(START, ...events, end(), STOP)).choices[0]?.parts ?? []
}

function faultOf(events: readonly CallEvent[]): string | undefined {
  const last = events.at(-1)
  return last?.type === 'error' ? last.fault.code : undefined
}

function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('decodeStream', () => {
  it('reads a stream as parts that start, grow and end', () => {
    const events = decode(
      START,
      begin({ type: 'text', text: '' }),
      { type: 'ping' },
      says('Hel'),
      says('lo'),
      stop(),
      end('max_tokens'),
      STOP,
    )
    assert.deepEqual(
      events.filter(event => event.type !== 'usage'),
      [
        { type: 'response-start', id: 'msg_1', model: 'claude', createdAt: 0 },
        { type: 'part-start', choice: 0, part: 0, kind: 'text' },
        { type: 'part-delta', choice: 0, part: 0, text: 'Hel' },
        { type: 'part-delta', choice: 0, part: 0, text: 'lo' },
        { type: 'part-end', choice: 0, part: 0 },
        { type: 'choice-end', choice: 0, finish: { reason: 'length', raw: 'max_tokens' } },
        { type: 'response-end' },
      ],
    )
  })

  it('puts usage together from both ends, and adds nothing up', () => {
    const usage = (last: Json) => collectEvents(decode(START, end('end_turn', last), STOP)).usage
    const whole = {
      inputTokens: 40,
      cacheReadTokens: 5,
      cacheWriteTokens: 10,
      cacheWrite5mTokens: 10,
      cacheWrite1hTokens: 0,
      outputTokens: 15,
      reasoningTokens: undefined,
    }
    assert.deepEqual(usage({ output_tokens: 15 }), whole)
    assert.deepEqual(usage({ ...USAGE, output_tokens: 15 }), whole)
    assert.deepEqual(usage({ input_tokens: 0, cache_read_input_tokens: null, output_tokens: 15 }), whole)
    assert.deepEqual(usage({ input_tokens: -3, output_tokens: 15 }), whole)
    assert.deepEqual(usage({ input_tokens: 30, output_tokens: 15 }), { ...whole, inputTokens: 45 })
  })

  it('tells the input at once, and no output before it has been counted', () => {
    const [, usage] = decode(START)
    assert.ok(usage?.type === 'usage')
    assert.deepEqual([usage.usage.inputTokens, 'outputTokens' in usage.usage], [40, false])
  })

  it('keeps the seals of thoughts, also of one that is not shown', () => {
    const parts = partsOf(
      begin({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking: 'Hm.' }),
      delta({ type: 'signature_delta', signature: 's' }),
      stop(),
      begin({ type: 'thinking', thinking: '', signature: '' }, 1),
      delta({ type: 'signature_delta', signature: 't' }, 1),
      stop(1),
      begin({ type: 'redacted_thinking', data: 'e' }, 2),
      stop(2),
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Hm.', signature: 's' },
      { type: 'reasoning', text: '', signature: 't' },
      { type: 'reasoning', text: '', encrypted: 'e' },
    ])
  })

  it('reads arguments in fragments, whole at the start, empty or not at all', () => {
    const call = (index: number, input: unknown, ...fragments: string[]) => [
      begin({ type: 'tool_use', id: `t${index}`, name: 'f', input }, index),
      ...fragments.map(fragment => writes(fragment, index)),
      stop(index),
    ]
    const parts = partsOf(...call(0, {}, '', '{"a"', ':1}'), ...call(1, { a: 2 }), ...call(2, {}, ''), ...call(3, {}))
    assert.deepEqual(
      parts.map(part => part.type === 'tool-call' && part.arguments),
      ['{"a":1}', '{"a":2}', '{}', '{}'],
    )
  })

  it('gives a call without an id one of its own', () => {
    const [part] = partsOf(begin({ type: 'tool_use', name: 'f', input: {} }), stop())
    assert.ok(part?.type === 'tool-call')
    assert.equal(part.id, 'toolu_msg_1_0')
  })

  it('gives blocks that it does not know on whole', () => {
    const parts = partsOf(
      begin({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      writes('{"query"'),
      writes(':"x"}'),
      stop(),
      begin({ type: 'web_search_tool_result', tool_use_id: 's', content: [] }, 1),
      stop(1),
      begin({ type: 'compaction', content: null, note: 'a' }, 2),
      delta({ type: 'compaction_delta', content: 'Short.', note: 'b' }, 2),
      stop(2),
    )
    assert.deepEqual(
      parts.map(part => part.type === 'opaque' && part.value),
      [
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        { type: 'compaction', content: 'Short.', note: 'ab' },
      ],
    )
  })

  it('keeps blocks apart that a host mixes, and those that it does not end', () => {
    const parts = partsOf(
      begin({ type: 'text', text: '' }),
      begin({ type: 'tool_use', id: 't', name: 'f', input: {} }, 1),
      writes('{"a":', 1),
      says('a'),
      begin({ type: 'text', text: 'c' }, 2),
      says('b'),
      stop(),
      writes('1}', 1),
      says('d', 2),
    )
    assert.deepEqual(
      parts.map(part => ('text' in part ? part.text : part.type === 'tool-call' && part.arguments)),
      ['ab', '{"a":1}', 'cd'],
    )
  })

  it('ends with an error when the stream stops before the answer is whole, and says nothing after it', () => {
    assert.equal(faultOf(decode(START, begin({ type: 'text', text: 'x' }))), 'upstream_error')
    assert.equal(faultOf(decode(START, end(null))), 'upstream_error')
    assert.equal(faultOf(decode(START, end(''))), 'upstream_error')
    assert.equal(faultOf(decode()), 'upstream_error')
    assert.equal(faultOf(decode(STOP, START)), 'upstream_error')
  })

  it('takes the close of the connection for the end when the reason has been told, and an end without one too', () => {
    assert.equal(decode(START, end()).at(-1)?.type, 'response-end')
    assert.deepEqual(collectEvents(decode(START, STOP)).choices[0]?.finish, { reason: 'other', raw: undefined })
  })

  it('ends with an error when another answer begins, and takes the same one beginning again for nothing', () => {
    const types = (second: Json) =>
      decode(START, begin({ type: 'text', text: '' }), says('a'), second, says('b'), stop(), end(), STOP)
        .filter(event => event.type === 'part-delta' || event.type === 'error' || event.type === 'response-end')
        .map(event => event.type)
    const another = { type: 'message_start', message: { ...MESSAGE, id: 'msg_2', usage: USAGE } }
    assert.deepEqual(types(another), ['part-delta', 'error'])
    assert.deepEqual(types(START), ['part-delta', 'part-delta', 'response-end'])
    assert.equal(decode(START, another, begin({ type: 'text', text: 'a' }), end(), STOP).at(-1)?.type, 'response-end')
  })

  it('turns an error event and nonsense into an error, and reads no further', () => {
    const error = (type: string) => ({ type: 'error', error: { type, message: 'x' } })
    assert.equal(faultOf(decode(START, error('overloaded_error'), end(), STOP)), 'all_channels_failed')
    assert.equal(faultOf(decode(START, error('api_error'), end(), STOP)), 'upstream_error')
    for (const data of ['{"type":', '[]', '5', 'null']) {
      assert.equal(faultOf(decode(START, data, end(), STOP)), 'upstream_error')
    }
  })

  it('passes over what says nothing: frames without data, events and deltas that it does not know', () => {
    const decoder = decodeStream()
    assert.deepEqual(decoder.push({ event: 'ping', data: undefined }), [])
    assert.deepEqual(decoder.push({ event: undefined, data: ' ' }), [])
    const events = [{ type: 'constructor' }, begin({ type: 'text', text: '' }), delta({ type: 'x_delta' }), stop()]
    assert.deepEqual(partsOf(...events), [{ type: 'text', text: '' }])
  })

  it('goes by the name of the event where the data has no type', () => {
    const decoder = decodeStream()
    const [start] = decoder.push({ event: 'message_start', data: JSON.stringify({ message: MESSAGE }) })
    assert.equal(start?.type, 'response-start')
  })

  it('keeps what only this format tells at the end', () => {
    const stop_details = { type: 'refusal', category: 'x', explanation: null }
    const last = { type: 'message_delta', delta: { stop_reason: 'refusal', stop_details, container: null }, usage: {} }
    assert.deepEqual(decode(START, last, STOP).at(-1), {
      type: 'response-end',
      extensions: { messages: { stop_details } },
    })
  })
})

describe('a stream of any message', () => {
  const input = anyResult.map(result => encodeResponse(result, { publicModel: 'm', wantsStreamUsage: true }))

  it('says the same as the whole message', () => {
    fc.assert(
      fc.property(input, cutPlaces, (message, places) => {
        const whole = decodeResponse(overTheWire(message))
        const events = decode(...(overTheWire(streamEvents(message, places)) as Json[]))
        const { choices, usage, extensions = {}, id, model } = collectEvents(events)
        assert.deepEqual(choices, whole.choices)
        const outputTokens = Math.max(1, whole.usage?.outputTokens ?? 0)
        assert.deepEqual(usage, { ...whole.usage, outputTokens })
        assert.deepEqual([id, model, extensions], [whole.id, whole.model, whole.extensions])
      }),
      { numRuns: 300 },
    )
  })

  it('gives the same events wherever it is cut', () => {
    const decodeBytes = (pieces: readonly Buffer[]) => {
      const splitter = new FrameSplitter({ frameBytesMax: 1_000_000 })
      const decoder = decodeStream()
      const frames = pieces.flatMap(piece => splitter.push(piece))
      return [...frames.flatMap(frame => decoder.push(decodeFrame(frame))), ...decoder.end()]
    }
    fc.assert(
      fc.property(input, cutPlaces, cutPlaces, (message, places, cuts) => {
        const events = streamEvents(message, places)
        const frames = events.map(event => encodeFrame({ event: String(event.type), data: JSON.stringify(event) }))
        const bytes = Buffer.concat(frames)
        const whole = decodeBytes([bytes])
        assert.deepEqual(decodeBytes(cutBytes(bytes, cuts)), whole)
        assert.deepEqual(decodeBytes(Array.from(bytes, byte => Buffer.of(byte))), whole)
        assert.equal(whole.at(-1)?.type, 'response-end')
      }),
      { numRuns: 100 },
    )
  })
})

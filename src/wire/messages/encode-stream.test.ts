import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import { anyResult, resultEvents } from '../../../test/support/arbitrary-messages.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutPlaces } from '../../../test/support/cut.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'

type Json = Record<string, unknown>

const START: CallEvent = { type: 'response-start', id: 'msg_1', model: 'upstream-model', createdAt: 5 }
const END: CallEvent[] = [
  { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: 'stop' } },
  { type: 'usage', usage: { inputTokens: 10, cacheReadTokens: 4, outputTokens: 2 } },
  { type: 'response-end' },
]

/** What a client reads, each event under its name. */
function encode(events: readonly CallEvent[]): Json[] {
  const encoder = encodeStream({ publicModel: 'public-model', wantsStreamUsage: true })
  return events
    .flatMap(event => encoder.push(event))
    .map(frame => {
      const data = JSON.parse(frame.data ?? '') as Json
      assert.equal(frame.event, data.type, 'the event is named before its data')
      return data
    })
}

/** The events of the blocks alone. */
function blocksOf(events: readonly CallEvent[]): Json[] {
  return encode([START, ...events, ...END]).filter(({ type }) => String(type).startsWith('content_block'))
}

const part = (opening: Json, texts: readonly string[] = [], end: Json = {}, number = 0): CallEvent[] => {
  const at = { choice: 0, part: number }
  return [
    { type: 'part-start', ...at, ...opening } as CallEvent,
    ...texts.map((text): CallEvent => ({ type: 'part-delta', ...at, text })),
    { type: 'part-end', ...at, ...end },
  ]
}

function known(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

describe('encodeStream', () => {
  it('is undone by decodeStream for every answer that the format can carry, fragment by fragment', () => {
    fc.assert(
      fc.property(anyResult, cutPlaces, (result, places) => {
        const events = resultEvents(result, places)
        const encoder = encodeStream({ publicModel: result.model, wantsStreamUsage: true })
        const decoder = decodeStream()
        const frames = events.flatMap(event => encoder.push(event))
        const decoded = [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
        const ofParts = (all: readonly CallEvent[]) => known(all.filter(event => 'choice' in event))
        assert.deepEqual(ofParts(decoded), ofParts(events))
        assert.deepEqual(known(collectEvents(decoded)), known(collectEvents(events)))
      }),
      { numRuns: 500 },
    )
  })

  it('writes the events of a text as Anthropic does', () => {
    assert.deepEqual(encode([START, ...part({ kind: 'text' }, ['Hel', 'lo']), ...END]), [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'public-model',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 0, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 2 },
      },
      { type: 'message_stop' },
    ])
  })

  it('tells the input at the start when the upstream does, and always at the end', () => {
    const early: CallEvent = { type: 'usage', usage: { inputTokens: 7 } }
    const late: CallEvent = { type: 'usage', usage: { outputTokens: 3 } }
    const [start, ...rest] = encode([START, early, ...part({ kind: 'text' }, ['x']), late, { type: 'response-end' }])
    assert.deepEqual((start?.message as Json | undefined)?.usage, { input_tokens: 7, output_tokens: 0 })
    assert.deepEqual(rest.at(-2)?.usage, { input_tokens: 7, output_tokens: 3 })
  })

  it('guesses the input at the start when the upstream counts last, and corrects it at the end', () => {
    const encoder = encodeStream({ publicModel: 'm', wantsStreamUsage: true, inputTokensEstimate: 12 })
    const events = [START, ...part({ kind: 'text' }, ['x']), ...END]
    const written = events.flatMap(event => encoder.push(event)).map(({ data }) => JSON.parse(data ?? '') as Json)
    assert.deepEqual((written[0]?.message as Json | undefined)?.usage, { input_tokens: 12, output_tokens: 0 })
    assert.equal((written.at(-2)?.usage as Json | undefined)?.input_tokens, 6)
  })

  it('seals a thought at its end, and gives one that cannot be read a block of its own', () => {
    const blocks = blocksOf([
      ...part({ kind: 'reasoning' }, ['Hm.'], { signature: 's' }),
      ...part({ kind: 'reasoning' }, [], { signature: 't' }, 1),
      ...part({ kind: 'reasoning' }, [], { encrypted: 'e' }, 2),
    ])
    assert.deepEqual(blocks, [
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature: 't' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'redacted_thinking', data: 'e' } },
      { type: 'content_block_stop', index: 2 },
    ])
  })

  it('gives tool calls their arguments in JSON, free text too, and says that tools are called', () => {
    const call = (toolKind: string) => ({ kind: 'tool-call', id: 'a', name: 'f', toolKind })
    const written = (events: CallEvent[]) =>
      blocksOf(events).flatMap(({ delta }) => (delta ? [(delta as Json).partial_json] : []))
    assert.deepEqual(written(part(call('function'), ['{"a"', ':1}'])), ['{"a"', ':1}'])
    assert.deepEqual(written(part(call('function'))), [])
    const free = written(part(call('custom'), ['l"s\n', '\ud83d', '\ude00'])).join('')
    assert.deepEqual(JSON.parse(free), { input: 'l"s\n😀' })
    const end = encode([START, ...part(call('function')), ...END]).at(-2)
    assert.equal((end?.delta as Json | undefined)?.stop_reason, 'tool_use')
  })

  it('numbers blocks without a gap where it has none for a part', () => {
    const blocks = blocksOf([
      ...part({ kind: 'audio' }, ['AAAA']),
      ...part({ kind: 'whole', value: { type: 'opaque', format: 'responses', value: {} } }, [], {}, 1),
      ...part({ kind: 'refusal' }, ['No.'], {}, 2),
    ])
    assert.deepEqual(
      blocks.map(({ type, index }) => [type, index]),
      [
        ['content_block_start', 0],
        ['content_block_delta', 0],
        ['content_block_stop', 0],
      ],
    )
  })

  it('tells of one choice', () => {
    const other = part({ kind: 'text' }, ['x']).map(event => ({ ...event, choice: 1 }) as CallEvent)
    assert.deepEqual(blocksOf(other), [])
  })

  it('tells of an error in the error object of the family, and of no end', () => {
    const fault = new Fault('all_channels_failed', 'No provider can take this.')
    assert.deepEqual(encode([START, { type: 'error', fault }]), [
      {
        type: 'error',
        error: {
          type: 'overloaded_error',
          message: 'No provider can take this.',
          code: 'all_channels_failed',
          retryable: true,
        },
      },
    ])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import { anyEvents } from '../../../test/support/arbitrary-answer.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'

type Json = Record<string, unknown>

const START: CallEvent = { type: 'response-start', id: 'resp_1', model: 'upstream-model', createdAt: 1_700_000_000 }
const END: CallEvent[] = [
  { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: 'end_turn' } },
  { type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
  { type: 'response-end' },
]

function encode(events: readonly CallEvent[], { wantsStreamUsage = false } = {}): string[] {
  const encoder = encodeStream({ publicModel: 'public-model', wantsStreamUsage })
  return events.flatMap(event => encoder.push(event)).map(frame => frame.data ?? '')
}

function deltasOf(events: readonly CallEvent[]): Json[] {
  return encode([START, ...events]).map(data => JSON.parse(data).choices[0].delta)
}

/** Each choice's own events; how the choices take turns is left to the encoder. */
function byChoice(events: readonly CallEvent[]): Record<number, CallEvent[]> {
  const grouped: Record<number, CallEvent[]> = {}
  for (const event of events) {
    if (!('choice' in event)) continue
    grouped[event.choice] ??= []
    grouped[event.choice]?.push(event)
  }
  return grouped
}

function known(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

describe('encodeStream', () => {
  it('is undone by decodeStream for every sequence that the format can carry', () => {
    fc.assert(
      fc.property(anyEvents, events => {
        const start = events[0]
        assert.ok(start?.type === 'response-start')
        const encoder = encodeStream({ publicModel: start.model, wantsStreamUsage: true })
        const decoder = decodeStream()
        const frames = events.flatMap(event => encoder.push(event))
        const decoded = [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
        assert.deepEqual(known(byChoice(decoded)), known(byChoice(events)))
        assert.deepEqual(known(collectEvents(decoded)), known(collectEvents(events)))
      }),
      { numRuns: 500 },
    )
  })

  it('writes the chunks of a text as OpenAI does', () => {
    const data = encode([
      START,
      { type: 'part-start', choice: 0, part: 0, kind: 'text' },
      { type: 'part-delta', choice: 0, part: 0, text: 'Hello' },
      { type: 'part-end', choice: 0, part: 0 },
      ...END,
    ])
    const head = { id: 'resp_1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'public-model' }
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason: null }
    assert.deepEqual(
      data.slice(0, -1).map(each => JSON.parse(each)),
      [
        { ...head, choices: [{ ...choice, delta: { role: 'assistant', content: '' } }] },
        { ...head, choices: [{ ...choice, delta: { content: 'Hello' } }] },
        { ...head, choices: [{ ...choice, finish_reason: 'stop' }] },
      ],
    )
    assert.equal(data.at(-1), '[DONE]')
  })

  it('sends usage in a last chunk without choices, and null before it, to clients that asked', () => {
    const data = encode([START, ...END], { wantsStreamUsage: true })
    const chunks = data.slice(0, -1).map(each => JSON.parse(each))
    assert.deepEqual(chunks.at(-1).choices, [])
    assert.deepEqual(chunks.at(-1).usage, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 })
    for (const chunk of chunks.slice(0, -1)) assert.equal(chunk.usage, null)
    for (const each of encode([START, ...END]).slice(0, -1)) assert.equal('usage' in JSON.parse(each), false)
  })

  it('names a tool call in its first fragment and numbers the calls of a choice', () => {
    const call = (part: number, id: string, toolKind: 'function' | 'custom'): CallEvent[] => [
      { type: 'part-start', choice: 0, part, kind: 'tool-call', id, name: 'f', toolKind },
      { type: 'part-delta', choice: 0, part, text: '{}' },
      { type: 'part-end', choice: 0, part },
    ]
    assert.deepEqual(deltasOf([...call(0, 'a', 'function'), ...call(1, 'b', 'custom')]), [
      { role: 'assistant', content: '' },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'custom', custom: { name: 'f', input: '' } }] },
      { tool_calls: [{ index: 1, custom: { input: '{}' } }] },
    ])
  })

  it('says sealed thoughts again with their seals, all at once, and the seal of a call on the call', () => {
    const at = (part: number) => ({ choice: 0, part })
    const deltas = deltasOf([
      { type: 'part-start', ...at(0), kind: 'reasoning' },
      { type: 'part-delta', ...at(0), text: 'H' },
      { type: 'part-delta', ...at(0), text: 'm.' },
      { type: 'part-end', ...at(0), signature: 's' },
      { type: 'part-start', ...at(1), kind: 'tool-call', id: 'a', name: 'f', toolKind: 'function', signature: 't' },
      { type: 'part-end', ...at(1) },
      { type: 'part-start', ...at(2), kind: 'reasoning' },
      { type: 'part-end', ...at(2), encrypted: 'e' },
      { type: 'choice-end', choice: 0, finish: { reason: 'tool-calls', raw: undefined } },
    ])
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }
    assert.deepEqual(deltas, [
      { role: 'assistant', content: '' },
      { reasoning_content: 'H' },
      { reasoning_content: 'm.' },
      { tool_calls: [{ ...call, extra_content: { google: { thought_signature: 't' } } }] },
      {
        reasoning_details: [
          { index: 0, type: 'reasoning.text', text: 'Hm.', signature: 's' },
          { index: 1, type: 'reasoning.encrypted', data: 'e' },
        ],
      },
      {},
    ])
  })

  it('says nothing twice where nothing is sealed', () => {
    const deltas = deltasOf([
      { type: 'part-start', choice: 0, part: 0, kind: 'reasoning' },
      { type: 'part-delta', choice: 0, part: 0, text: 'Hm.' },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: undefined } },
    ])
    assert.deepEqual(deltas, [{ role: 'assistant', content: '' }, { reasoning_content: 'Hm.' }, {}])
  })

  it('introduces every choice once, also one that says nothing', () => {
    const finish = { reason: 'stop', raw: undefined } as const
    const deltas = deltasOf([
      { type: 'part-start', choice: 1, part: 0, kind: 'text' },
      { type: 'part-end', choice: 1, part: 0 },
      { type: 'part-start', choice: 1, part: 1, kind: 'refusal' },
      { type: 'choice-end', choice: 0, finish },
    ])
    assert.deepEqual(deltas, [{ role: 'assistant', content: '' }, { role: 'assistant', content: '' }, {}])
  })

  it('passes over parts that its deltas have no field for', () => {
    const value = { type: 'opaque', format: 'messages', value: { type: 'server_tool_use' } } as const
    assert.deepEqual(
      deltasOf([
        { type: 'part-start', choice: 0, part: 0, kind: 'whole', value },
        { type: 'part-end', choice: 0, part: 0 },
      ]),
      [{ role: 'assistant', content: '' }],
    )
  })

  it('sends an image in a delta of its own', () => {
    const value = { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } } as const
    assert.deepEqual(
      deltasOf([
        { type: 'part-start', choice: 0, part: 0, kind: 'whole', value },
        { type: 'part-end', choice: 0, part: 0 },
      ]),
      [
        { role: 'assistant', content: '' },
        { images: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
      ],
    )
  })

  it('tells of an error in the error object of the family, and of no end', () => {
    const fault = new Fault('upstream_error', 'The model provider broke off.')
    const data = encode([START, { type: 'error', fault }])
    assert.deepEqual(
      data.map(each => JSON.parse(each)),
      [
        {
          error: {
            message: 'The model provider broke off.',
            type: 'upstream_error',
            code: 'upstream_error',
            retryable: true,
          },
        },
      ],
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import { anyStreamed } from '../../../test/support/arbitrary-generate-content.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'

const START: CallEvent = { type: 'response-start', id: 'resp_1', model: 'upstream-model', createdAt: 0 }
const END: CallEvent[] = [
  { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: 'end_turn' } },
  { type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
  { type: 'response-end' },
]
const HEAD = { modelVersion: 'public-model', responseId: 'resp_1' }

function encode(events: readonly CallEvent[]): unknown[] {
  const encoder = encodeStream({ publicModel: 'public-model', wantsStreamUsage: false })
  return events.flatMap(event => encoder.push(event)).map(frame => JSON.parse(frame.data ?? ''))
}

function known(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('encodeStream', () => {
  it('is undone by decodeStream for every sequence that the format can carry', () => {
    fc.assert(
      fc.property(anyStreamed, ({ result, events }) => {
        const encoder = encodeStream({ publicModel: result.model, wantsStreamUsage: true })
        const decoder = decodeStream()
        const frames = events.flatMap(event => encoder.push(event))
        const decoded = [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
        assert.deepEqual(known(collectEvents(decoded)), known(collectEvents(events)))
      }),
      { numRuns: 500 },
    )
  })

  it('writes a text as partial answers, and says at the end why it stopped and what it used', () => {
    const data = encode([
      START,
      { type: 'part-start', choice: 0, part: 0, kind: 'text' },
      { type: 'part-delta', choice: 0, part: 0, text: 'Hel' },
      { type: 'part-delta', choice: 0, part: 0, text: 'lo' },
      { type: 'part-end', choice: 0, part: 0 },
      ...END,
    ])
    const content = (text: string) => ({ role: 'model', parts: [{ text }] })
    assert.deepEqual(data, [
      { candidates: [{ content: content('Hel'), index: 0 }], ...HEAD },
      { candidates: [{ content: content('lo'), index: 0 }], ...HEAD },
      {
        candidates: [{ content: content(''), finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
        ...HEAD,
      },
    ])
  })

  it('keeps the arguments of a call until they are whole', () => {
    const at = { choice: 0, part: 0 }
    const data = encode([
      START,
      { type: 'part-start', ...at, kind: 'tool-call', id: 'a', name: 'f', toolKind: 'function', signature: 's' },
      { type: 'part-delta', ...at, text: '{"x"' },
      { type: 'part-delta', ...at, text: ':1}' },
      { type: 'part-end', ...at },
    ])
    const parts = [{ functionCall: { id: 'a', name: 'f', args: { x: 1 } }, thoughtSignature: 's' }]
    assert.deepEqual(data, [{ candidates: [{ content: { role: 'model', parts }, index: 0 }], ...HEAD }])
  })

  it('seals a thought with a signature after its last piece', () => {
    const data = encode([
      START,
      { type: 'part-start', choice: 0, part: 0, kind: 'reasoning' },
      { type: 'part-delta', choice: 0, part: 0, text: 'hm' },
      { type: 'part-end', choice: 0, part: 0, signature: 's' },
    ]) as { candidates: { content: { parts: unknown[] } }[] }[]
    assert.deepEqual(
      data.map(each => each.candidates[0]?.content.parts),
      [[{ text: 'hm', thought: true }], [{ text: '', thought: true, thoughtSignature: 's' }]],
    )
  })

  it("tells of an error in the family's error object, and of no end", () => {
    const data = encode([START, { type: 'error', fault: new Fault('upstream_error', 'The provider broke off.') }])
    assert.equal(data.length, 1)
    const { error } = data[0] as { error: Record<string, unknown> }
    assert.deepEqual([error.code, error.status, error.message], [502, 'UNAVAILABLE', 'The provider broke off.'])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import { anyResponsesEvents } from '../../../test/support/arbitrary-responses.ts'
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

/** The events, each checked to go under its type and the next number. */
function encode(...events: CallEvent[]): Json[] {
  const encoder = encodeStream({ publicModel: 'public-model', wantsStreamUsage: false })
  return events
    .flatMap(event => encoder.push(event))
    .map(({ event, data }, index) => {
      const { type, sequence_number, ...fields } = JSON.parse(data ?? '')
      assert.deepEqual([type, sequence_number], [event, index])
      return { type, ...fields }
    })
}

const typesOf = (events: readonly Json[]) => events.map(({ type }) => String(type).replace('response.', ''))

const text = (part: number, ...fragments: string[]): CallEvent[] => [
  { type: 'part-start', choice: 0, part, kind: 'text' },
  ...fragments.map((each): CallEvent => ({ type: 'part-delta', choice: 0, part, text: each })),
  { type: 'part-end', choice: 0, part },
]

const known = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('encodeStream', () => {
  it('is undone by decodeStream for every sequence that the format can carry', () => {
    fc.assert(
      fc.property(anyResponsesEvents, events => {
        const start = events[0]
        assert.ok(start?.type === 'response-start')
        const encoder = encodeStream({ publicModel: start.model, wantsStreamUsage: true })
        const decoder = decodeStream()
        const frames = events.flatMap(event => encoder.push(event))
        const decoded = [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
        const said = (all: readonly CallEvent[]) => known(all.filter(event => event.type !== 'usage'))
        assert.deepEqual(said(decoded), said(events))
        assert.deepEqual(known(collectEvents(decoded)), known(collectEvents(events)))
      }),
      { numRuns: 500 },
    )
  })

  it('writes the events of a text as OpenAI does', () => {
    const events = encode(START, ...text(0, 'Hel', 'lo'), ...END)
    const at = { item_id: 'msg_1_0', output_index: 0, content_index: 0 }
    const part = (said: string) => ({ type: 'output_text', text: said, annotations: [], logprobs: [] })
    const item = { id: 'msg_1_0', type: 'message', role: 'assistant', status: 'completed', content: [part('Hello')] }
    assert.deepEqual(events.slice(2, -1), [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...at, part: part('') },
      { type: 'response.output_text.delta', ...at, delta: 'Hel', logprobs: [] },
      { type: 'response.output_text.delta', ...at, delta: 'lo', logprobs: [] },
      { type: 'response.output_text.done', ...at, text: 'Hello', logprobs: [] },
      { type: 'response.content_part.done', ...at, part: part('Hello') },
      { type: 'response.output_item.done', output_index: 0, item },
    ])
    const [created, inProgress] = events
    assert.deepEqual(typesOf([created!, inProgress!, events.at(-1)!]), ['created', 'in_progress', 'completed'])
    const { response } = events.at(-1) as { response: Json }
    assert.deepEqual(
      [response.id, response.created_at, response.model, response.status, response.output],
      ['resp_1', 1_700_000_000, 'public-model', 'completed', [item]],
    )
    assert.equal((response.usage as Json).total_tokens, 3)
    assert.deepEqual(created?.response, { ...response, status: 'in_progress', output: [], usage: null })
  })

  it('writes reasoning and calls as items of their own, with ids that stay', () => {
    const events = encode(
      START,
      { type: 'part-start', choice: 0, part: 0, kind: 'reasoning' },
      { type: 'part-delta', choice: 0, part: 0, text: 'Hm.' },
      { type: 'part-end', choice: 0, part: 0, encrypted: 'sealed' },
      { type: 'part-start', choice: 0, part: 1, kind: 'tool-call', id: 'call_1', name: 'f', toolKind: 'function' },
      { type: 'part-delta', choice: 0, part: 1, text: '{}' },
      { type: 'part-end', choice: 0, part: 1 },
      ...END,
    )
    const thought = { id: 'rs_1_0', type: 'reasoning', summary: [] }
    const inThought = { item_id: 'rs_1_0', output_index: 0, summary_index: 0 }
    const call = { id: 'fc_1_1', type: 'function_call', call_id: 'call_1', name: 'f' }
    const inCall = { item_id: 'fc_1_1', output_index: 1 }
    const summary = { type: 'summary_text', text: 'Hm.' }
    assert.deepEqual(events.slice(2, -1), [
      { type: 'response.output_item.added', output_index: 0, item: thought },
      { type: 'response.reasoning_summary_part.added', ...inThought, part: { ...summary, text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...inThought, delta: 'Hm.' },
      { type: 'response.reasoning_summary_text.done', ...inThought, text: 'Hm.' },
      { type: 'response.reasoning_summary_part.done', ...inThought, part: summary },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...thought, summary: [summary], encrypted_content: 'sealed' },
      },
      { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '', status: 'in_progress' } },
      { type: 'response.function_call_arguments.delta', ...inCall, delta: '{}' },
      { type: 'response.function_call_arguments.done', ...inCall, name: 'f', arguments: '{}' },
      { type: 'response.output_item.done', output_index: 1, item: { ...call, arguments: '{}', status: 'completed' } },
    ])
  })

  it('ends with the very items that it announced', () => {
    fc.assert(
      fc.property(anyResponsesEvents, each => {
        const events = encode(...each)
        const done = events.filter(({ type }) => type === 'response.output_item.done')
        assert.deepEqual(
          (events.at(-1) as { response: Json }).response.output,
          done.map(({ item }) => item),
        )
        assert.deepEqual(
          done.map(event => event.output_index),
          done.map((_, index) => index),
        )
      }),
    )
  })

  it('tells of an image as of one that its own tool made', () => {
    const value = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } } as const
    const events = encode(
      { type: 'response-start', id: 'resp_1', model: 'm', createdAt: 5 },
      { type: 'part-start', choice: 0, part: 0, kind: 'whole', value },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'response-end' },
    )
    const image = { type: 'image_generation_call', id: 'ig_1_0', status: 'completed', result: 'AAAA' }
    assert.deepEqual(typesOf(events).slice(2), ['output_item.added', 'output_item.done', 'completed'])
    assert.deepEqual(events.at(-2)?.item, image)
    assert.deepEqual((events.at(-1)?.response as Json | undefined)?.output, [image])
  })

  it('names in its last event why the answer broke off', () => {
    const finish = { reason: 'length', raw: 'length' } as const
    const last = encode(START, ...text(0, 'x'), { type: 'choice-end', choice: 0, finish }, { type: 'response-end' }).at(
      -1,
    )
    assert.equal(last?.type, 'response.incomplete')
    const { incomplete_details, output } = last!.response as { incomplete_details: Json; output: Json[] }
    assert.deepEqual([incomplete_details, output[0]?.status], [{ reason: 'max_output_tokens' }, 'incomplete'])
  })

  it('puts the next text into the message that is open', () => {
    const types = typesOf(encode(START, ...text(0), ...text(1), ...END))
    const part = ['content_part.added', 'output_text.done', 'content_part.done']
    assert.deepEqual(types.slice(2, -1), ['output_item.added', ...part, ...part, 'output_item.done'])
  })

  it('tells of an error as an event whose fields are its own, and then of a failed response', () => {
    const fault = new Fault('upstream_error', 'The model provider broke off.')
    const [error, failed] = encode(START, ...text(0, 'x'), { type: 'error', fault }).slice(-2)
    const { message, code } = { message: 'The model provider broke off.', code: 'upstream_error' }
    assert.deepEqual(error, { type: 'error', code, message, param: null, retryable: true })
    const { status, error: reason } = failed!.response as Json
    assert.deepEqual([failed?.type, status, reason], ['response.failed', 'failed', { code, message }])
    assert.deepEqual(typesOf(encode({ type: 'error', fault })), ['error'])
  })

  it('leaves out what has no place in the format, and answers beyond the first', () => {
    const events = encode(
      START,
      {
        type: 'part-start',
        choice: 0,
        part: 0,
        kind: 'whole',
        value: { type: 'opaque', format: 'messages', value: {} },
      },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'part-start', choice: 0, part: 1, kind: 'audio' },
      { type: 'part-delta', choice: 0, part: 1, text: 'AAAA' },
      { type: 'part-end', choice: 0, part: 1 },
      { type: 'part-start', choice: 1, part: 0, kind: 'text' },
      { type: 'choice-end', choice: 1, finish: { reason: 'length', raw: 'length' } },
      ...END,
    )
    assert.deepEqual(typesOf(events), ['created', 'in_progress', 'completed'])
  })
})

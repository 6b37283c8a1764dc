import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { anyResponsesEvents } from '../../../test/support/arbitrary-responses.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { decodeFrame, encodeFrame } from '../sse/frame.ts'
import { FrameSplitter } from '../sse/split.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'

type Json = Record<string, unknown>

const HEAD = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'gpt-5' }
const CREATED = { type: 'response.created', response: { ...HEAD, status: 'in_progress', output: [] } }

function completed(fields: Json = {}): Json {
  return { type: 'response.completed', response: { ...HEAD, status: 'completed', output: [], ...fields } }
}

function decode(...data: (Json | string)[]): CallEvent[] {
  const decoder = decodeStream()
  const events = data.flatMap(each =>
    decoder.push({ event: undefined, data: typeof each === 'string' ? each : JSON.stringify(each) }),
  )
  return [...events, ...decoder.end()]
}

function partsOf(...events: Json[]): readonly Part[] {
  return collectEvents(decode(CREATED, ...events, completed())).choices[0]?.parts ?? []
}

const added = (item: Json, output_index = 0) => ({ type: 'response.output_item.added', output_index, item })
const done = (item: Json, output_index = 0) => ({ type: 'response.output_item.done', output_index, item })
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
const wrote = (delta: string, output_index = 0, content_index = 0) => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index,
  content_index,
  delta,
  logprobs: [],
})
const textOf = (text: string, annotations: Json[] = []) => ({ type: 'output_text', text, annotations, logprobs: [] })
const call = (id: string, written = '') => ({
  id: `fc_${id}`,
  type: 'function_call',
  call_id: `call_${id}`,
  name: 'f',
  arguments: written,
})
const argued = (delta: string, output_index = 0) => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  delta,
})

describe('decodeStream', () => {
  it('reads the events of a text as parts that start, grow and end', () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
    const [start, ...rest] = decode(
      CREATED,
      { ...CREATED, type: 'response.in_progress' },
      added(MESSAGE),
      { type: 'response.content_part.added', ...at, part: textOf('') },
      wrote('Hel'),
      wrote('lo'),
      { type: 'response.output_text.done', ...at, text: 'Hello', logprobs: [] },
      { type: 'response.content_part.done', ...at, part: textOf('Hello') },
      done({ ...MESSAGE, content: [textOf('Hello')] }),
      {
        type: 'response.incomplete',
        response: { ...HEAD, incomplete_details: { reason: 'max_output_tokens' }, usage },
      },
    )
    assert.deepEqual(start, { type: 'response-start', id: 'resp_1', model: 'gpt-5', createdAt: 1_700_000_000 })
    assert.equal(rest.find(event => event.type === 'usage')?.usage.totalTokens, 3)
    assert.deepEqual(
      rest.filter(event => event.type !== 'usage'),
      [
        { type: 'part-start', choice: 0, part: 0, kind: 'text' },
        { type: 'part-delta', choice: 0, part: 0, text: 'Hel' },
        { type: 'part-delta', choice: 0, part: 0, text: 'lo' },
        { type: 'part-end', choice: 0, part: 0 },
        { type: 'choice-end', choice: 0, finish: { reason: 'length', raw: 'max_output_tokens' } },
        { type: 'response-end' },
      ],
    )
  })

  it('names a call by its call id, not by the id of its item', () => {
    const parts = partsOf(added(call('1')), argued('{"x"'), argued(':1}'), done(call('1', '{"x":1}')))
    assert.deepEqual(parts, [{ type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{"x":1}' }])
  })

  it('says that tools are called when a completed response has calls, which the format does not', () => {
    const events = decode(CREATED, added(call('1')), done(call('1', '{}')), completed())
    assert.deepEqual(collectEvents(events).choices[0]?.finish, { reason: 'tool-calls', raw: 'completed' })
  })

  it('puts interleaved items together, in the order in which they began', () => {
    const parts = partsOf(
      added(call('1'), 0),
      added(call('2'), 1),
      argued('{"y":', 1),
      argued('{"x":1}', 0),
      added(MESSAGE, 2),
      wrote('Done.', 2),
      argued('2}', 1),
      done(call('1', '{"x":1}'), 0),
      done({ ...MESSAGE, content: [textOf('Done.')] }, 2),
      done(call('2', '{"y":2}'), 1),
    )
    assert.deepEqual(
      parts.map(part => (part.type === 'tool-call' ? `${part.id} ${part.arguments}` : part.type)),
      ['call_1 {"x":1}', 'call_2 {"y":2}', 'text'],
    )
  })

  it('keeps the seal that a thought ends with, and its summaries apart', () => {
    const summary = (summary_index: number, text: string) => [
      { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index },
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index, delta: text },
    ]
    const item = { id: 'rs_1', type: 'reasoning', summary: [] }
    const sealed = { ...item, encrypted_content: 'sealed' }
    assert.deepEqual(partsOf(added(item), ...summary(0, 'a'), ...summary(1, 'b'), done(sealed)), [
      { type: 'reasoning', text: 'a\n\nb', encrypted: 'sealed' },
    ])
    assert.deepEqual(partsOf(added(item), done(sealed)), [{ type: 'reasoning', text: '', encrypted: 'sealed' }])
  })

  it('reads the thoughts of open models', () => {
    const item = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] }
    const delta = { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'Hm.' }
    const ended = { type: 'response.content_part.done', output_index: 0, content_index: 0, part: item.content[0] }
    assert.deepEqual(partsOf(added(item), delta, ended, done(item)), [{ type: 'reasoning', text: 'Hm.' }])
  })

  it('loses nothing that a host says only at the end of a part, of an item or of the response', () => {
    const hello = { ...MESSAGE, content: [textOf('Hello'), { type: 'refusal', refusal: 'No.' }] }
    const parts = [
      { type: 'text', text: 'Hello' },
      { type: 'refusal', text: 'No.' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{}' },
    ]
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }
    const items = [hello, thought, call('1', '{}')]
    assert.deepEqual(partsOf(...items.map((item, i) => done(item, i))), parts)
    assert.deepEqual(partsOf(...items.flatMap((item, i) => [added({ ...item, content: [] }, i), done(item, i)])), parts)
    assert.deepEqual(collectEvents(decode(completed({ output: items }))).choices[0]?.parts, parts)
    const written = { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hello' }
    assert.deepEqual(partsOf(written), [{ type: 'text', text: 'Hello' }])
    const argumentsDone = { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{}' }
    assert.deepEqual(partsOf(added(call('1')), argumentsDone), [parts[3]])
  })

  it('says nothing twice', () => {
    const item = { ...MESSAGE, content: [textOf('Hello')] }
    const stream = [added(MESSAGE), wrote('Hello'), done(item), wrote('late'), done(item)]
    const events = decode(CREATED, ...stream, completed({ output: [item] }))
    assert.deepEqual(collectEvents(events).choices[0]?.parts, [{ type: 'text', text: 'Hello' }])
  })

  it('tells items apart when a host gives all of them one index, or none', () => {
    for (const output_index of [0, undefined]) {
      const items = ['1', '2'].flatMap(id => [
        { ...added(call(id)), output_index },
        { ...argued('{}'), output_index },
        { ...done(call(id, '{}')), output_index },
      ])
      assert.deepEqual(
        partsOf(...items).map(part => (part.type === 'tool-call' ? `${part.id} ${part.arguments}` : part.type)),
        ['call_1 {}', 'call_2 {}'],
      )
    }
  })

  it('says once what only this format knows of a message', () => {
    const part = { type: 'x_unheard_of', x: 1 }
    const ended = { type: 'response.content_part.done', output_index: 0, content_index: 0, part }
    const late = { type: 'response.output_text.done', output_index: 0, content_index: 1, text: 'Hi' }
    const content = { type: 'response.content_part.done', output_index: 0, content_index: 1, part: textOf('Hi') }
    const item = done({ ...MESSAGE, content: [part, textOf('Hi')] })
    assert.deepEqual(partsOf(added(MESSAGE), ended, wrote('Hi', 0, 1), content, late, item), [
      { type: 'opaque', format: 'responses', value: { type: 'message', role: 'assistant', content: [part] } },
      { type: 'text', text: 'Hi' },
    ])
  })

  it('keeps citations with the text that they belong to', () => {
    const annotation = { type: 'url_citation', url: 'https://example.com', title: 'x', start_index: 0, end_index: 1 }
    const citations = [{ url: 'https://example.com', title: 'x', startIndex: 0, endIndex: 1 }]
    const event = { type: 'response.output_text.annotation.added', output_index: 0, content_index: 0, annotation }
    const item = done({ ...MESSAGE, content: [textOf('Hi', [annotation])] })
    assert.deepEqual(partsOf(added(MESSAGE), wrote('Hi'), event, item), [{ type: 'text', text: 'Hi', citations }])
    assert.deepEqual(partsOf(added(MESSAGE), wrote('Hi'), item), [{ type: 'text', text: 'Hi', citations }])
  })

  it('passes on whole what only this format knows, and passes over events about it', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' }
    const searching = { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' }
    assert.deepEqual(partsOf(added({ ...search, status: 'in_progress' }), searching, done(search)), [
      { type: 'opaque', format: 'responses', value: search },
    ])
  })

  it('lets no item wait for a search that goes on, and finds it in the last event when its end never comes', () => {
    const search = (id: string, status: string) => ({ id, type: 'web_search_call', status })
    const decoder = decodeStream()
    const push = (event: Json) => decoder.push({ event: undefined, data: JSON.stringify(event) })
    const begun = [CREATED, added(search('a', 'in_progress')), added(search('b', 'in_progress'), 1), added(MESSAGE, 2)]
    for (const event of begun) push(event)
    assert.deepEqual(
      push(wrote('Hi', 2)).map(event => event.type),
      ['part-start', 'part-delta'],
    )
    push(done(search('b', 'completed'), 1))
    push(done({ ...MESSAGE, content: [textOf('Hi')] }, 2))
    const output = [search('a', 'completed'), search('b', 'completed'), { ...MESSAGE, content: [textOf('Hi')] }]
    const parts = push(completed({ output })).flatMap(event =>
      event.type === 'part-start' && event.kind === 'whole' ? [event.value] : [],
    )
    assert.deepEqual(parts, [{ type: 'opaque', format: 'responses', value: search('a', 'completed') }])
  })

  it('ends with an error when the response fails or the stream is cut, and says nothing after it', () => {
    const failed = { type: 'response.failed', response: { ...HEAD, error: { code: 'invalid_prompt', message: 'No.' } } }
    const cases: [(Json | string)[], string][] = [
      [[wrote('x')], 'upstream_error'],
      [[wrote('x'), '[DONE]'], 'upstream_error'],
      [[], 'upstream_error'],
      [[failed, completed()], 'invalid_request'],
      [[{ type: 'error', code: 'rate_limit_exceeded', message: 'x' }, completed()], 'all_channels_failed'],
      [[{ error: { message: 'x' } }, completed()], 'upstream_error'],
    ]
    for (const [data, code] of cases) {
      const last = decode(CREATED, ...data).at(-1)
      assert.ok(last?.type === 'error')
      assert.equal(last.fault.code, code)
    }
    for (const data of ['{"type":', '[]', '5', 'null']) {
      const types = decode(CREATED, wrote('x'), data, completed()).map(event => event.type)
      assert.deepEqual(types, ['response-start', 'part-start', 'part-delta', 'error'])
    }
  })

  it('tells what a failed response cost', () => {
    const response = { ...HEAD, error: { code: 'server_error' }, usage: { input_tokens: 5, output_tokens: 1 } }
    const [, usage] = decode(CREATED, { type: 'response.failed', response })
    assert.ok(usage?.type === 'usage')
    assert.equal(usage.usage.inputTokens, 5)
  })

  it('takes a late marker of another format, frames without data and unknown events for nothing', () => {
    const events = decode(
      CREATED,
      '',
      { type: 'response.x_unheard_of' },
      { type: 'constructor' },
      { type: 'keepalive' },
      completed(),
      '[DONE]',
    )
    assert.deepEqual(
      events.map(event => event.type),
      ['response-start', 'choice-end', 'response-end'],
    )
    assert.deepEqual(decodeStream().push({ event: 'ping', data: undefined }), [])
  })
})

describe('decodeStream of any stream', () => {
  const frames = (events: readonly CallEvent[]) => {
    const encoder = encodeStream({ publicModel: 'm', wantsStreamUsage: true })
    return events.flatMap(event => encoder.push(event))
  }
  const known = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

  it('gives the same events wherever the stream is cut', () => {
    fc.assert(
      fc.property(anyResponsesEvents, cutPlaces, (events, places) => {
        const bytes = Buffer.concat(frames(events).map(encodeFrame))
        const read = (pieces: readonly Buffer[]) => {
          const splitter = new FrameSplitter({ frameBytesMax: 1e6 })
          const decoder = decodeStream()
          return pieces.flatMap(piece => splitter.push(piece).flatMap(frame => decoder.push(decodeFrame(frame))))
        }
        const whole = known(read([bytes]))
        assert.deepEqual(known(read(cutBytes(bytes, places))), whole)
        assert.deepEqual(known(read(Array.from(bytes, byte => Buffer.of(byte)))), whole)
      }),
      { numRuns: 100 },
    )
  })

  it('collects to what its last event says as a whole answer', () => {
    fc.assert(
      fc.property(anyResponsesEvents, events => {
        const all = frames(events)
        const decoder = decodeStream()
        const { choices, usage, id } = collectEvents(all.flatMap(frame => decoder.push(frame)))
        const whole = decodeResponse(JSON.parse(all.at(-1)?.data ?? '').response)
        assert.deepEqual(
          known({ choices, usage, id }),
          known({ choices: whole.choices, usage: whole.usage, id: whole.id }),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('loses nothing of items, however their events are interleaved', () => {
    fc.assert(
      fc.property(anyResponsesEvents, fc.array(fc.nat(), { maxLength: 60 }), (events, turns) => {
        const all = frames(events).map(frame => JSON.parse(frame.data ?? '') as Json)
        const items = Map.groupBy(all.slice(2, -1), event => event.output_index)
        const queues = [...items.values()]
        const mixed: Json[] = []
        const order: unknown[] = []
        for (let turn = 0; queues.some(queue => queue.length > 0); turn++) {
          const busy = queues.filter(queue => queue.length > 0)
          const event = busy[(turns[turn] ?? 0) % busy.length]!.shift()!
          if (!order.includes(event.output_index)) order.push(event.output_index)
          mixed.push(event)
        }
        const output = all.at(-1)?.response as { output: Json[] }
        const reordered = order.map(index => output.output[index as number])
        const expected = decodeResponse({ ...output, output: reordered })
        const got = collectEvents(decode(...all.slice(0, 2), ...mixed, all.at(-1)!)).choices[0]?.parts ?? []
        const parts = expected.choices[0]?.parts ?? []
        const isWritten = (part: Part) => part.type !== 'opaque'
        assert.deepEqual(known(got.filter(isWritten)), known(parts.filter(isWritten)))
        // What comes whole comes when it is done, and waits for nobody who began before.
        const whole = (all: readonly Part[]) => all.filter(part => !isWritten(part)).map(part => JSON.stringify(part))
        assert.deepEqual(whole(got).toSorted(), whole(parts).toSorted())
      }),
      { numRuns: 300 },
    )
  })
})

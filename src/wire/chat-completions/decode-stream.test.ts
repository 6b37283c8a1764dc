import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { anyCitations, anySoundToolCall } from '../../../test/support/arbitrary-answer.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutPlaces, cutText } from '../../../test/support/cut.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeCitation } from './encode-response.ts'

type Json = Record<string, unknown>

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'gpt-5' }
const DONE = '[DONE]'

/** One choice's part of a chunk. */
function delta(fields: Json, index = 0): Json {
  return { index, delta: fields, logprobs: null, finish_reason: null }
}

function finish(reason = 'stop', index = 0): Json {
  return { index, delta: {}, logprobs: null, finish_reason: reason }
}

function chunk(...choices: Json[]): Json {
  return { ...HEAD, choices }
}

function decode(...data: (Json | string)[]): CallEvent[] {
  const decoder = decodeStream()
  const events = data.flatMap(each =>
    decoder.push({ event: undefined, data: typeof each === 'string' ? each : JSON.stringify(each) }),
  )
  return [...events, ...decoder.end()]
}

/** The parts of choice 0, each delta in a chunk of its own. */
function partsOf(...deltas: Json[]): readonly Part[] {
  const events = decode(...deltas.map(each => chunk(delta(each))), chunk(finish()), DONE)
  return collectEvents(events).choices[0]?.parts ?? []
}

interface ToolDelta {
  readonly index?: number
  readonly id?: string
  readonly name?: string
  readonly arguments?: string
}

/** The tool calls that fragments make, one fragment a chunk. */
function toolsOf(...fragments: ToolDelta[]): string[] {
  const deltas = fragments.map(({ index, id, name, arguments: written }) => ({
    tool_calls: [{ index, id, function: { name, arguments: written } }],
  }))
  return partsOf(...deltas).map(part => {
    assert.ok(part.type === 'tool-call')
    return `${part.id} ${part.name} ${part.arguments}`
  })
}

describe('decodeStream', () => {
  it('reads a stream as parts that start, grow and end', () => {
    const events = decode(
      chunk(delta({ role: 'assistant', content: '' })),
      chunk(delta({ content: 'Hel' })),
      chunk(delta({ content: 'lo' })),
      chunk(finish('length')),
      { ...HEAD, choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
      DONE,
    )
    const [start, ...rest] = events
    assert.deepEqual(start, { type: 'response-start', id: 'chatcmpl-1', model: 'gpt-5', createdAt: 1_700_000_000 })
    const usage = rest.find(event => event.type === 'usage')
    assert.equal(usage?.usage.totalTokens, 3)
    assert.deepEqual(
      rest.filter(event => event.type !== 'usage'),
      [
        { type: 'part-start', choice: 0, part: 0, kind: 'text' },
        { type: 'part-delta', choice: 0, part: 0, text: 'Hel' },
        { type: 'part-delta', choice: 0, part: 0, text: 'lo' },
        { type: 'part-end', choice: 0, part: 0 },
        { type: 'choice-end', choice: 0, finish: { reason: 'length', raw: 'length' } },
        { type: 'response-end' },
      ],
    )
  })

  it('takes the close of the connection for the end when every choice has finished', () => {
    assert.equal(decode(chunk(delta({ content: 'x' })), chunk(finish())).at(-1)?.type, 'response-end')
  })

  it('ends with an error when the stream stops before the answer is whole, and says nothing after it', () => {
    const cut = [
      [chunk(delta({ content: 'x' }))],
      [chunk(delta({ content: 'x' }, 0), delta({ content: 'y' }, 1)), chunk(finish('stop', 1))],
      [],
      [DONE, chunk(finish())],
    ]
    for (const data of cut) {
      const last = decode(...data).at(-1)
      assert.ok(last?.type === 'error')
      assert.equal(last.fault.code, 'upstream_error')
    }
  })

  it('takes the end marker for the end of a host that never says why its answers end', () => {
    const tool = { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }
    const events = decode(chunk(delta({ content: 'x' }, 0), delta(tool, 1)), DONE)
    assert.deepEqual(
      collectEvents(events).choices.map(choice => choice.finish),
      [
        { reason: 'other', raw: undefined },
        { reason: 'tool-calls', raw: undefined },
      ],
    )
    assert.equal(events.at(-1)?.type, 'response-end')
  })

  it('reads content that is a list, in which thoughts stand among words', () => {
    const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    const source = { type: 'reference', reference_ids: [1] }
    const parts = partsOf(
      { content: [thought('Let me ')] },
      { content: [thought('see.')] },
      { content: [{ type: 'text', text: 'Four' }] },
      { content: ', I say.' },
      { content: [source] },
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Let me see.' },
      { type: 'text', text: 'Four, I say.' },
      { type: 'opaque', format: 'chat-completions', value: source },
    ])
  })

  it('cites the sources that a host names in every chunk, once', () => {
    const known = (...citations: string[]) => ({ citations })
    const events = decode(
      { ...chunk(delta({ content: 'Said' })), ...known('https://a.test/') },
      { ...chunk(delta({ content: ' so.' })), ...known('https://a.test/', 'https://b.test/') },
      { ...chunk(finish()), ...known('https://a.test/', 'https://b.test/') },
      DONE,
    )
    assert.deepEqual(collectEvents(events).choices[0]?.parts, [
      { type: 'text', text: 'Said so.', citations: [{ url: 'https://a.test/' }, { url: 'https://b.test/' }] },
    ])
  })

  it('reads the calls of a host that writes out both kinds and leaves one empty', () => {
    const custom = { name: '', input: '' }
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' }, custom }
    assert.deepEqual(partsOf({ tool_calls: [call] }), [
      { type: 'tool-call', kind: 'function', id: 'c', name: 'f', arguments: '{"a":1}' },
    ])
  })

  it('turns an error event and nonsense into an error, and reads no further', () => {
    const broken = [JSON.stringify({ error: { message: 'overloaded', code: 'x' } }), '{"id":', '[]', '5', 'null']
    for (const data of broken) {
      const events = decode(chunk(delta({ content: 'x' })), data, chunk(finish()), DONE)
      assert.deepEqual(
        events.map(event => event.type),
        ['response-start', 'part-start', 'part-delta', 'error'],
      )
    }
  })

  it('passes over frames without data', () => {
    const decoder = decodeStream()
    assert.deepEqual(decoder.push({ event: 'ping', data: undefined }), [])
    assert.deepEqual(decoder.push({ event: undefined, data: '' }), [])
  })

  it('does not take an empty finish reason for an end', () => {
    const word = (content: string) => chunk({ index: 0, delta: { content }, finish_reason: '' })
    const { choices } = collectEvents(decode(word('Hel'), word('lo'), chunk(finish()), DONE))
    assert.deepEqual(choices[0]?.parts, [{ type: 'text', text: 'Hello' }])
  })

  it('reads choices that take turns', () => {
    const events = decode(
      chunk(delta({ content: 'a' }, 0), delta({ content: 'x' }, 1)),
      chunk(delta({ content: 'y' }, 1)),
      chunk(finish('stop', 1)),
      chunk(delta({ content: 'b' }, 0)),
      chunk(finish('length', 0)),
      DONE,
    )
    assert.deepEqual(collectEvents(events).choices, [
      { index: 0, parts: [{ type: 'text', text: 'ab' }], finish: { reason: 'length', raw: 'length' } },
      { index: 1, parts: [{ type: 'text', text: 'xy' }], finish: { reason: 'stop', raw: 'stop' } },
    ])
  })

  it('reads reasoning under either of its names, and once when a host sends both', () => {
    const parts = partsOf(
      { reasoning_content: 'a' },
      { reasoning: 'b' },
      { reasoning_content: 'c', reasoning: 'c' },
      { content: 'd' },
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'abc' },
      { type: 'text', text: 'd' },
    ])
  })

  it('reads sealed thoughts entry by entry, in pieces, and their words once', () => {
    const text = { type: 'reasoning.text', format: 'vendor', index: 0 }
    const parts = partsOf(
      { reasoning: 'H', reasoning_details: [{ ...text, text: 'H' }] },
      { reasoning: 'm.', reasoning_details: [{ ...text, text: 'm.' }] },
      { reasoning_details: [{ ...text, signature: 's' }] },
      { reasoning_details: [{ type: 'reasoning.summary', summary: 'Short.', index: 1 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'e', id: 'rs_1', index: 1 }] },
      {
        reasoning_details: [
          { type: 'reasoning.unheard_of', index: 2 },
          { ...text, text: '' },
        ],
      },
      { content: 'Hi' },
    )
    const own = (fields: object) => ({ extensions: { 'chat-completions': fields } })
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Hm.', signature: 's', ...own({ format: 'vendor' }) },
      { type: 'reasoning', text: 'Short.', ...own({ type: 'reasoning.summary' }) },
      { type: 'reasoning', text: '', encrypted: 'e', ...own({ id: 'rs_1' }) },
      { type: 'text', text: 'Hi' },
    ])
  })

  it('reads thoughts that stand among texts, as Mistral has them', () => {
    const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    const parts = partsOf(
      { content: [thinking('H')] },
      { content: [thinking('m.'), { type: 'text', text: 'H' }] },
      { content: 'i' },
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Hi' },
    ])
  })

  it('takes entries that say again what has been said for no more than their seals', () => {
    const entry = { type: 'reasoning.text', text: 'Hm.', signature: 's', index: 0 }
    const parts = partsOf({ reasoning_content: 'Hm.' }, { reasoning_details: [entry] })
    assert.deepEqual(parts, [{ type: 'reasoning', text: 'Hm.', signature: 's' }])
  })

  it('reads the seal of a call where Google’s host has it', () => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }
    const parts = partsOf({ tool_calls: [{ ...call, extra_content: { google: { thought_signature: 's' } } }] })
    assert.deepEqual(parts, [
      { type: 'tool-call', kind: 'function', id: 'a', name: 'f', arguments: '{}', signature: 's' },
    ])
  })

  it('keeps log probabilities with the text that they belong to', () => {
    const logprobs = { content: [{ token: 'x', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null }
    const events = decode(
      chunk({ index: 0, delta: { content: 'x' }, logprobs, finish_reason: null }),
      chunk(finish()),
      DONE,
    )
    assert.deepEqual(collectEvents(events).choices[0]?.logprobs, [{ token: 'x', logprob: -1, top: [] }])
  })

  it('reads the function call of before there were tools', () => {
    const parts = partsOf({ function_call: { name: 'f', arguments: '' } }, { function_call: { arguments: '{}' } })
    assert.deepEqual(parts, [{ type: 'tool-call', kind: 'function', id: '', name: 'f', arguments: '{}' }])
  })
})

describe('decodeStream, with tool calls', () => {
  it('gives the arguments on as they come', () => {
    const events = decode(
      chunk(delta({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] })),
      chunk(delta({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] })),
    )
    assert.deepEqual(events.slice(1, 3), [
      { type: 'part-start', choice: 0, part: 0, kind: 'tool-call', id: 'a', name: 'f', toolKind: 'function' },
      { type: 'part-delta', choice: 0, part: 0, text: '{"x"' },
    ])
  })

  it('puts interleaved fragments of parallel calls together', () => {
    const calls = toolsOf(
      { index: 0, id: 'a', name: 'f', arguments: '' },
      { index: 1, id: 'b', name: 'g', arguments: '{"y"' },
      { index: 0, arguments: '{"x":' },
      { index: 1, arguments: ':2}' },
      { index: 0, arguments: '1}' },
    )
    assert.deepEqual(calls, ['a f {"x":1}', 'b g {"y":2}'])
  })

  it('makes no call of white space that a host sends after the arguments', () => {
    const calls = toolsOf(
      { index: 0, id: 'a', name: 'f', arguments: '{}' },
      { index: 1, id: 'b', name: 'g', arguments: '{"y":' },
      { index: 0, arguments: '\n' },
      { index: 0, id: 'a', arguments: '' },
      { index: 1, arguments: '2}' },
    )
    assert.deepEqual(calls, ['a f {}', 'b g {"y":2}'])
  })

  it('tells calls apart when a host gives all of them one index, or none', () => {
    for (const index of [{ index: 0 }, {}]) {
      const calls = toolsOf(
        { ...index, id: 'a', name: 'f', arguments: '{"x":1}' },
        { ...index, id: 'b', name: 'f', arguments: '{"x":' },
        { ...index, arguments: '2}' },
      )
      assert.deepEqual(calls, ['a f {"x":1}', 'b f {"x":2}'])
    }
  })

  it('takes an id that a host repeats in every fragment for the same call', () => {
    const calls = toolsOf(
      { index: 0, id: 'a', name: 'f', arguments: '{"x":' },
      { index: 0, id: 'a', name: 'f', arguments: '1}' },
      { index: 1, id: 'b', name: 'g', arguments: '{}' },
    )
    assert.deepEqual(calls, ['a f {"x":1}', 'b g {}'])
  })

  it('keeps calls and text in the order in which they began', () => {
    const fragment = (index: number, id: string, written: string) => ({
      tool_calls: [{ index, id, custom: { name: 'run', input: written } }],
    })
    const parts = partsOf(fragment(0, 'a', 'ls'), fragment(1, 'b', 'pwd'), { content: 'Done.' }, fragment(2, 'c', 'id'))
    assert.deepEqual(
      parts.map(part => (part.type === 'tool-call' ? `${part.id} ${part.arguments}` : part.type)),
      ['a ls', 'b pwd', 'text', 'c id'],
    )
  })

  it('loses nothing of parallel calls, however their fragments are interleaved', () => {
    const plan = fc.tuple(
      fc.uniqueArray(anySoundToolCall, { minLength: 1, maxLength: 4, selector: call => call.id }),
      fc.array(cutPlaces, { minLength: 4, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 40 }),
    )
    fc.assert(
      fc.property(plan, ([calls, places, turns]) => {
        const { fragments, order } = interleave(calls, places, turns)
        assert.deepEqual(partsOf(...fragments.map(fragment => ({ tool_calls: [fragment] }))), order)
      }),
      { numRuns: 500 },
    )
  })
})

type ToolCall = Extract<Part, { type: 'tool-call' }>

/** The calls' fragments in random turns, and the calls in the order in which they then begin, which numbers them. */
function interleave(calls: readonly ToolCall[], places: readonly number[][], turns: readonly number[]) {
  const queues = calls.map((call, i) => ['', ...cutText(call.arguments, places[i] ?? [])].map(text => ({ call, text })))
  const order: ToolCall[] = []
  const fragments: Json[] = []
  for (let turn = 0; queues.some(queue => queue.length > 0); turn++) {
    const busy = queues.filter(queue => queue.length > 0)
    const { call, text } = busy[(turns[turn] ?? 0) % busy.length]!.shift()!
    const isFirst = !order.includes(call)
    if (isFirst) order.push(call)
    const inner = call.kind === 'custom' ? { input: text } : { arguments: text }
    const named = isFirst ? { id: call.id, type: call.kind } : {}
    const body = isFirst ? { name: call.name, ...inner } : inner
    fragments.push({ index: order.indexOf(call), ...named, [call.kind === 'custom' ? 'custom' : 'function']: body })
  }
  return { fragments, order }
}

describe('a stream and a whole answer', () => {
  const text = fc.option(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), { nil: undefined })
  const said = fc.record({
    reasoning_content: text,
    content: text,
    refusal: text,
    audio: fc.option(fc.base64String({ minLength: 4, maxLength: 16 }), { nil: undefined }),
    citations: anyCitations,
    calls: fc.uniqueArray(anySoundToolCall, { maxLength: 3, selector: call => call.id }),
    places: fc.array(cutPlaces, { minLength: 4, maxLength: 4 }),
    turns: fc.array(fc.nat(), { maxLength: 40 }),
  })

  it('decode to the same parts when they say the same', () => {
    fc.assert(
      fc.property(said, ({ reasoning_content, content, refusal, audio, citations, calls, places, turns }) => {
        const cut = (each: string | undefined, wrap: (fragment: string) => Json) =>
          each === undefined ? [] : cutText(each, places[0] ?? []).map(wrap)
        const annotations = content === undefined ? [] : citations.map(encodeCitation)
        const { fragments, order } = interleave(calls, places, turns)
        const streamed = partsOf(
          { role: 'assistant', content: '' },
          ...cut(reasoning_content, fragment => ({ reasoning_content: fragment })),
          ...cut(content, fragment => ({ content: fragment })),
          { annotations },
          ...cut(refusal, fragment => ({ refusal: fragment })),
          ...cut(audio, fragment => ({ audio: { data: fragment } })),
          ...fragments.map(fragment => ({ tool_calls: [fragment] })),
        )
        const message = {
          role: 'assistant',
          reasoning_content,
          content: content ?? null,
          annotations,
          refusal: refusal ?? null,
          audio: audio === undefined ? null : { data: audio },
          tool_calls: order.map(({ id, kind, name, arguments: written }) =>
            kind === 'custom'
              ? { id, type: kind, custom: { name, input: written } }
              : { id, type: kind, function: { name, arguments: written } },
          ),
        }
        const whole = decodeResponse({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
        assert.deepEqual(streamed, whole.choices[0]?.parts)
      }),
      { numRuns: 300 },
    )
  })
})

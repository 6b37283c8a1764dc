import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { anyResult, anyStreamed } from '../../../test/support/arbitrary-generate-content.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { decodeFrame, encodeFrame } from '../sse/frame.ts'
import { FrameSplitter } from '../sse/split.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeResponse } from './encode-response.ts'
import { encodeStream } from './encode-stream.ts'

type Json = Record<string, unknown>

const HEAD = { modelVersion: 'gemini-x', responseId: 'resp-1' }

function chunk(parts: unknown[], fields: Json = {}): Json {
  return { candidates: [{ content: { role: 'model', parts }, index: 0, ...fields }], ...HEAD }
}

function decode(...data: (Json | string)[]): CallEvent[] {
  const decoder = decodeStream()
  const events = data.flatMap(each =>
    decoder.push({ event: undefined, data: typeof each === 'string' ? each : JSON.stringify(each) }),
  )
  return [...events, ...decoder.end()]
}

const STOP = chunk([], { finishReason: 'STOP' })

function choiceOf(...data: Json[]) {
  return collectEvents(decode(...data)).choices[0]
}

function known(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('decodeStream', () => {
  it('reads a stream as parts that start, grow and end', () => {
    const [start, ...rest] = decode(chunk([{ text: 'Hel' }]), chunk([{ text: 'lo' }], { finishReason: 'MAX_TOKENS' }))
    assert.deepEqual(start, { type: 'response-start', id: 'resp-1', model: 'gemini-x', createdAt: 0 })
    assert.deepEqual(rest, [
      { type: 'part-start', choice: 0, part: 0, kind: 'text' },
      { type: 'part-delta', choice: 0, part: 0, text: 'Hel' },
      { type: 'part-delta', choice: 0, part: 0, text: 'lo' },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'choice-end', choice: 0, finish: { reason: 'length', raw: 'MAX_TOKENS' } },
      { type: 'response-end' },
    ])
  })

  it('believes the last usage, which counts the whole answer', () => {
    const usage = (candidatesTokenCount: number) => ({ usageMetadata: { promptTokenCount: 4, candidatesTokenCount } })
    const events = decode({ ...chunk([{ text: 'a' }]), ...usage(1) }, { ...STOP, ...usage(7) })
    assert.equal(collectEvents(events).usage?.outputTokens, 7)
  })

  it('joins a signature to the text that it seals, also when it comes alone in the last chunk', () => {
    assert.deepEqual(
      choiceOf(
        chunk([{ text: 'hm', thought: true }]),
        chunk([{ text: '', thought: true, thoughtSignature: 's1' }]),
        chunk([{ text: 'Hi' }]),
        chunk([{ text: '', thoughtSignature: 's2' }], { finishReason: 'STOP' }),
      )?.parts,
      [
        { type: 'reasoning', text: 'hm', signature: 's1' },
        { type: 'text', text: 'Hi', signature: 's2' },
      ],
    )
  })

  it('keeps a signature that follows a call in a text of its own', () => {
    assert.deepEqual(
      choiceOf(
        chunk([{ functionCall: { name: 'f', args: {} } }]),
        chunk([{ text: '', thoughtSignature: 's' }], { finishReason: 'STOP' }),
      )?.parts,
      [
        { type: 'tool-call', kind: 'function', id: 'call_resp-1_0', name: 'f', arguments: '{}' },
        { type: 'text', text: '', signature: 's' },
      ],
    )
  })

  it('gives calls without an id one that no other call of the answer has, and takes the stop for tool calls', () => {
    const call = { functionCall: { name: 'f', args: { a: 1 } } }
    const choice = choiceOf(chunk([call, call]), chunk([call]), STOP)
    assert.deepEqual(
      choice?.parts.map(part => part.type === 'tool-call' && part.id),
      ['call_resp-1_0', 'call_resp-1_1', 'call_resp-1_2'],
    )
    assert.deepEqual(choice?.finish, { reason: 'tool-calls', raw: 'STOP' })
  })

  it('loses nothing to a host that repeats the finish reason in every chunk', () => {
    const word = (text: string) => chunk([{ text }], { finishReason: 'STOP' })
    assert.deepEqual(choiceOf(word('Hel'), word('lo'))?.parts, [{ type: 'text', text: 'Hello' }])
  })

  it('reads a blocked prompt as a refusal', () => {
    assert.deepEqual(choiceOf({ promptFeedback: { blockReason: 'SAFETY' }, ...HEAD }), {
      index: 0,
      parts: [],
      finish: { reason: 'refusal', raw: 'SAFETY' },
    })
  })

  it('survives a candidate that says nothing', () => {
    assert.deepEqual(choiceOf({ candidates: [{ finishReason: 'STOP' }] })?.parts, [])
  })

  it('gives citations to the text, whenever they come, and each once', () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example' } }] }
    const citations = [{ url: 'https://a.example' }]
    assert.deepEqual(
      choiceOf(chunk([{ text: 'a' }], { groundingMetadata }), chunk([], { groundingMetadata, finishReason: 'STOP' }))
        ?.parts,
      [{ type: 'text', text: 'a', citations }],
    )
    const call = chunk([{ functionCall: { id: 'c', name: 'f' } }])
    assert.deepEqual(choiceOf(call, chunk([], { groundingMetadata, finishReason: 'STOP' }))?.parts.at(-1), {
      type: 'text',
      text: '',
      citations,
    })
  })

  it('ends with an error when the stream stops before the answer is whole', () => {
    for (const data of [
      [],
      [chunk([{ text: 'x' }])],
      [HEAD],
      [chunk([], { finishReason: 'FINISH_REASON_UNSPECIFIED' })],
    ]) {
      const last = decode(...data).at(-1)
      assert.ok(last?.type === 'error')
      assert.equal(last.fault.code, 'upstream_error')
    }
  })

  it('turns an error event and nonsense into an error, and reads no further', () => {
    const error = JSON.stringify({ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } })
    const piecemeal = JSON.stringify(chunk([{ functionCall: { name: 'f', willContinue: true } }]))
    for (const data of [error, '{"candidates":', '[]', '5', 'null', piecemeal]) {
      assert.deepEqual(
        decode(chunk([{ text: 'x' }]), data, STOP).map(event => event.type),
        ['response-start', 'part-start', 'part-delta', 'error'],
      )
    }
    const last = decode(error).at(-1)
    assert.equal(last?.type === 'error' && last.fault.code, 'all_channels_failed')
  })

  it('passes over frames without data', () => {
    const decoder = decodeStream()
    assert.deepEqual(decoder.push({ event: 'ping', data: undefined }), [])
    assert.deepEqual(decoder.push({ event: undefined, data: '' }), [])
  })

  it('gives the same events, wherever the stream is cut', () => {
    fc.assert(
      fc.property(anyStreamed, cutPlaces, ({ events }, places) => {
        const encoder = encodeStream({ publicModel: 'm', wantsStreamUsage: true })
        const bytes = Buffer.concat(events.flatMap(event => encoder.push(event)).map(encodeFrame))
        const read = (pieces: readonly Buffer[]) => {
          const splitter = new FrameSplitter({ frameBytesMax: 1_000_000 })
          const decoder = decodeStream()
          const frames = pieces.flatMap(piece => splitter.push(piece))
          return [...frames.flatMap(frame => decoder.push(decodeFrame(frame))), ...decoder.end()]
        }
        assert.deepEqual(read(cutBytes(bytes, places)), read([bytes]))
      }),
      { numRuns: 100 },
    )
  })

  it('says the same as a whole answer that is sent part by part', () => {
    fc.assert(
      fc.property(anyResult, result => {
        const whole = encodeResponse(result, { publicModel: result.model, wantsStreamUsage: true })
        const candidates = known(whole.candidates ?? []) as (Json & { content: { parts: unknown[] } })[]
        const head = { modelVersion: whole.modelVersion, responseId: whole.responseId, createTime: whole.createTime }
        const pieces = candidates.flatMap(({ content, index, groundingMetadata, logprobsResult, ...end }) => [
          // What is said of sources comes with the last words, or else after them.
          ...content.parts.map((part, i) => ({
            candidates: [
              { content: { parts: [part] }, index, ...(i === content.parts.length - 1 && { groundingMetadata }) },
            ],
          })),
          { candidates: [{ index, ...end }], usageMetadata: whole.usageMetadata },
        ])
        const events = decode(...pieces.map(piece => ({ ...piece, ...head })))
        const { extensions: _, ...expected } = decodeResponse(known(whole))
        const choices = expected.choices.map(({ logprobs: __, ...choice }) => choice)
        assert.deepEqual(known(collectEvents(events)), known({ ...expected, choices }))
      }),
      { numRuns: 300 },
    )
  })
})

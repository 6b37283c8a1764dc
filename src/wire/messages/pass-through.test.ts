import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import type { Observed, Target } from '#core/work.ts'
import { anyResult, streamEvents } from '../../../test/support/arbitrary-messages.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { ROUTING, target } from '../../../test/support/target.ts'
import { encodeResponse } from './encode-response.ts'
import { passThrough } from './pass-through.ts'
import { decodeUsage } from './usage.ts'

type Json = Record<string, unknown>

const BODY = { model: 'public-model', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }

function facts(fields: Json = {}) {
  return passThrough.readRequest({ ...BODY, ...fields })
}

const renamed = (text: string) => text.replaceAll('"upstream-model"', '"public-model"')

describe('pass-through of requests', () => {
  it('replaces the model and keeps every other byte', () => {
    const text =
      '{ "x":[1.50,\n{"model":"inner"}],"mod\\u0065l" : "public-model", "max_tokens":1e1,"messages":[{"role":"user","content":"é\\u00e9"}] }'
    const edited = passThrough.editRequest(Buffer.from(text), facts(), target()).toString()
    assert.equal(edited, text.replace('"public-model"', '"upstream-model"'))
  })

  it('sends the very bytes when the upstream calls the model the same', () => {
    const bytes = Buffer.from(JSON.stringify({ ...BODY, stream: true }))
    assert.equal(passThrough.editRequest(bytes, facts(), target({ upstreamModel: 'public-model' })), bytes)
  })

  it('knows whether the client wants a stream, which then always has its usage', () => {
    const { model, isStream, wantsStreamUsage } = facts({ stream: true })
    assert.deepEqual([model, isStream, wantsStreamUsage], ['public-model', true, true])
    assert.equal(facts({ stream: null }).isStream, false)
  })

  it('refuses a body that no upstream could serve', () => {
    for (const field of ['model', 'max_tokens', 'messages']) {
      assert.throws(
        () => facts({ [field]: undefined }),
        (error: unknown) => error instanceof Fault && error.param === field,
      )
    }
  })
})

describe('pass-through of whole answers', () => {
  const answer = (text: string, to: Target = target()) => passThrough.editAnswer(Buffer.from(text), to)

  it('replaces the model and keeps every other byte', () => {
    const text = '{"id":"x", "model":"upstream-model","content":[ ],"x_vendor":{"model":"m"},"cost":1.50}\n'
    assert.equal(answer(text).body.toString(), renamed(text))
  })

  it('adds where the request went only when that is wanted, and a model when there is none', () => {
    const body = answer('{"content":[]}', target({ routing: ROUTING })).body.toString()
    assert.deepEqual(JSON.parse(body), { content: [], model: 'public-model', _routing: ROUTING })
    assert.deepEqual(JSON.parse(answer('{"content":[]}').body.toString()), { content: [], model: 'public-model' })
  })

  it('observes usage with what was cached, and the bytes that were generated', () => {
    const content = [
      { type: 'thinking', thinking: 'abc', signature: 'not counted' },
      { type: 'text', text: 'é' },
      { type: 'tool_use', id: 'not counted', name: 'f', input: { a: 1 } },
      { type: 'redacted_thinking', data: 'not counted' },
      null,
    ]
    const usage = { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 5 }
    const { observed } = answer(JSON.stringify({ content, usage }))
    assert.deepEqual([observed.usage?.inputTokens, observed.usage?.outputTokens], [7, 5])
    assert.equal(observed.outputBytes, 3 + 2 + 1 + 7)
    assert.equal(observed.isFinished, true)
    assert.equal(answer('{"content":[]}').observed.usage, undefined)
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    for (const text of ['{"type":"error","error":{"message":"x"}}', '{"id":"x"}', '[]', '<html>', '']) {
      assert.throws(
        () => answer(text),
        (error: unknown) => error instanceof Fault && error.code === 'upstream_error',
      )
    }
  })
})

interface Passed {
  readonly output: string
  readonly observed: Observed
  readonly fault: string | undefined
  readonly hasEnded: boolean
}

/** What the client gets of a stream, up to its end. */
function pass(pieces: readonly Buffer[], to = target()): Passed {
  const codec = passThrough.editStream(facts({ stream: true }), to)
  const output: Uint8Array[] = []
  for (const piece of pieces) {
    if (codec.fault || codec.hasEnded) break
    output.push(codec.push(piece) ?? Buffer.alloc(0))
  }
  const { hasEnded } = codec
  if (!codec.fault) output.push(codec.finish())
  const { usage, outputBytes, isFinished } = codec.observed
  return {
    output: Buffer.concat(output).toString(),
    observed: { usage, outputBytes, isFinished },
    fault: codec.fault?.code,
    hasEnded,
  }
}

const passText = (text: string, to?: Target) => pass([Buffer.from(text)], to)
const event = (value: Json) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

const USAGE = { input_tokens: 10, cache_read_input_tokens: 2, output_tokens: 1 }
const START = event({ type: 'message_start', message: { id: 'x', model: 'upstream-model', content: [], usage: USAGE } })
const TEXT = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'é"model"' } })
const END = event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } })
const STOP = event({ type: 'message_stop' })

describe('pass-through of streams', () => {
  it('renames the model in the message and keeps every other byte', () => {
    const stream = `: hello\n\n${START}event:ping\r\ndata: {"type":"ping", "x":1.50}\r\n\r\n${TEXT}${END}${STOP}`
    assert.equal(passText(stream).output, renamed(stream))
  })

  it('says where the request went, in the message', () => {
    const { output } = passText(START + TEXT + END + STOP, target({ routing: ROUTING }))
    assert.deepEqual(JSON.parse(output.split('\n')[1]?.slice(6) ?? '').message._routing, ROUTING)
    assert.equal(output.match(/_routing/g)?.length, 1)
  })

  it('puts usage together from both ends, and knows none before the output has been counted', () => {
    const { inputTokens, outputTokens, cacheReadTokens } = passText(START + END + STOP).observed.usage ?? {}
    assert.deepEqual([inputTokens, outputTokens, cacheReadTokens], [12, 5, 2])
    assert.equal(passText(START + TEXT).observed.usage, undefined)
  })

  it('counts the bytes that the model wrote', () => {
    const delta = (fields: Json) => event({ type: 'content_block_delta', index: 0, delta: fields })
    const begin = (content_block: Json) => event({ type: 'content_block_start', index: 0, content_block })
    const stream =
      begin({ type: 'text', text: '' }) +
      delta({ type: 'text_delta', text: 'é' }) +
      delta({ type: 'thinking_delta', thinking: 'ab' }) +
      delta({ type: 'signature_delta', signature: 'not counted' }) +
      begin({ type: 'tool_use', id: 'not counted', name: 'f', input: {} }) +
      delta({ type: 'input_json_delta', partial_json: '{}' })
    assert.equal(passText(START + stream).observed.outputBytes, 2 + 2 + 1 + 2)
  })

  it('is finished when the reason has been told, or the end has come', () => {
    const isFinished = (text: string) => passText(text).observed.isFinished
    assert.equal(isFinished(START + TEXT), false)
    assert.equal(isFinished(START + event({ type: 'message_delta', delta: { stop_reason: null } })), false)
    assert.equal(isFinished(START + event({ type: 'message_delta', delta: { stop_reason: '' } })), false)
    assert.equal(isFinished(START + END), true)
    assert.equal(isFinished(START + STOP), true)
  })

  it('holds the end back until finish, reads nothing after it, and makes one where there is none', () => {
    const codec = passThrough.editStream(facts({ stream: true }), target())
    const before = Buffer.from(codec.push(Buffer.from(START + END + STOP + TEXT)) ?? []).toString()
    assert.deepEqual([before, codec.hasEnded], [renamed(START + END), true])
    assert.equal(Buffer.from(codec.finish()).toString(), STOP)
    assert.deepEqual(
      [passText(START + END).output, passText(START + END).hasEnded],
      [renamed(START + END + STOP), false],
    )
  })

  it('stops at an error of the upstream and words faults as events', () => {
    const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'x' } })
    const { output, fault } = passText(START + TEXT + error + STOP)
    assert.deepEqual([output, fault], [renamed(START + TEXT), 'all_channels_failed'])
    const codec = passThrough.editStream(facts({ stream: true }), target())
    const text = Buffer.from(codec.encodeFault(new Fault('timeout_error', 'Too late.'))).toString()
    assert.match(text, /^event: error\ndata: \{.*\}\n\n$/)
    assert.deepEqual(JSON.parse(text.split('data: ')[1] ?? '').error.type, 'timeout_error')
  })
})

describe('pass-through of any stream', () => {
  const input = fc.record({
    message: anyResult.map(result => encodeResponse(result, { publicModel: 'upstream-model', wantsStreamUsage: true })),
    places: cutPlaces,
    lineEnd: fc.constantFrom('\n', '\r\n'),
    comment: fc.constantFrom('', ': processing\n\n'),
  })

  const print = (events: readonly Json[], lineEnd: string, comment: string) =>
    events
      .map(each => `${comment}event: ${each.type}${lineEnd}data: ${JSON.stringify(each)}${lineEnd}${lineEnd}`)
      .join('')

  it('changes the model alone, and observes what was used', () => {
    fc.assert(
      fc.property(input, ({ message, places, lineEnd, comment }) => {
        const text = print(streamEvents(message, places), lineEnd, comment)
        const { output, observed, hasEnded } = passText(text)
        assert.equal(output, text.replace('"model":"upstream-model"', '"model":"public-model"'))
        const whole = decodeUsage(message.usage)
        assert.deepEqual(observed.usage, { ...whole, outputTokens: Math.max(1, whole?.outputTokens ?? 0) })
        assert.deepEqual([observed.isFinished, hasEnded], [true, true])
      }),
      { numRuns: 200 },
    )
  })

  it('gives the same bytes and observes the same, wherever the stream is cut', () => {
    fc.assert(
      fc.property(input, cutPlaces, ({ message, places, lineEnd, comment }, cuts) => {
        const bytes = Buffer.from(print(streamEvents(message, places), lineEnd, comment))
        const whole = pass([bytes])
        assert.deepEqual(pass(cutBytes(bytes, cuts)), whole)
        assert.deepEqual(pass(Array.from(bytes, byte => Buffer.of(byte))), whole)
      }),
      { numRuns: 60 },
    )
  })
})

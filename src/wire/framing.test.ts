import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { fromUtf8, toUtf8 } from '@smithy/util-utf8'
import fc from 'fast-check'
import type { StreamCodec } from '#core/work.ts'
import { cutBytes, cutPlaces } from '../../test/support/cut.ts'
import { target } from '../../test/support/target.ts'
import { FRAMINGS } from './framing.ts'
import { messages } from './messages/index.ts'

const official = new EventStreamCodec(toUtf8, fromUtf8)

function encode(headers: Record<string, string>, payload: unknown): Buffer {
  const typed = Object.entries(headers).map(([name, value]) => [`:${name}`, { type: 'string' as const, value }])
  return Buffer.from(official.encode({ headers: Object.fromEntries(typed), body: fromUtf8(JSON.stringify(payload)) }))
}

function chunk(event: unknown): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64')
  return encode({ 'message-type': 'event', 'event-type': 'chunk' }, { bytes, p: 'abcdefgh' })
}

const EVENTS = [
  { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [], usage: { input_tokens: 3 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße 👋' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 3 } },
]

function open(): StreamCodec {
  const facts = messages.passThrough.readRequest({
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'x' }],
    stream: true,
  })
  return FRAMINGS['aws-event-stream'].unframe(messages.passThrough.editStream(facts, target({ publicModel: 'm' })))
}

function read(pieces: readonly Buffer[]): string {
  const stream = open()
  const output = pieces.map(piece => stream.push(piece) ?? '')
  assert.equal(stream.fault, undefined)
  assert.ok(stream.hasEnded)
  assert.deepEqual(stream.observed.usage?.outputTokens, 2)
  return [...output, stream.finish()].map(bytes => Buffer.from(bytes).toString()).join('')
}

describe('the framing aws-event-stream', () => {
  it('gives the codec of a format the server-sent events that it knows, wherever the bytes are cut', () => {
    const bytes = Buffer.concat(EVENTS.map(chunk))
    const expected = EVENTS.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    fc.assert(fc.property(cutPlaces, places => assert.equal(read(cutBytes(bytes, places)), expected)))
  })

  it('ends at an exception, with what it means', () => {
    const cases = [
      ['throttlingException', 'all_channels_failed'],
      ['serviceUnavailableException', 'all_channels_failed'],
      ['validationException', 'invalid_request'],
      ['modelTimeoutException', 'timeout_error'],
      ['modelStreamErrorException', 'upstream_error'],
      ['internalServerException', 'upstream_error'],
      ['neverHeardOfException', 'upstream_error'],
    ] as const
    for (const [name, code] of cases) {
      const stream = open()
      stream.push(chunk(EVENTS[0]))
      const type = { 'message-type': 'exception', 'exception-type': name }
      assert.equal(stream.push(Buffer.concat([encode(type, { message: 'Too hot.' }), chunk(EVENTS[1])])), undefined)
      assert.equal(stream.fault?.code, code, name)
    }
  })

  it('tells a prompt that is too long, and a model that the account has not, from other mistakes', () => {
    const said = (message: string) => {
      const stream = open()
      stream.push(encode({ 'message-type': 'exception', 'exception-type': 'validationException' }, { message }))
      return stream.fault?.code
    }
    assert.equal(said('Input is too long for requested model.'), 'context_length_exceeded')
    assert.equal(said('prompt is too long: 210000 tokens > 200000 maximum'), 'context_length_exceeded')
    assert.equal(said('The provided model identifier is invalid.'), 'upstream_error')
    assert.equal(said('max_tokens: 100000 > 64000'), 'invalid_request')
  })

  it('takes an error without a body, and bytes that are no event stream, for the failure of the provider', () => {
    const failed = open()
    failed.push(encode({ 'message-type': 'error', 'error-code': 'InternalError', 'error-message': 'Oops' }, null))
    assert.equal(failed.fault?.code, 'upstream_error')
    const foreign = open()
    foreign.push(Buffer.from('event: message_start\ndata: {}\n\n'))
    assert.equal(foreign.fault?.code, 'upstream_error')
  })
})

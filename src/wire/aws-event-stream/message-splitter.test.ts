import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventStreamCodec, Int64 } from '@smithy/eventstream-codec'
import { fromUtf8, toUtf8 } from '@smithy/util-utf8'
import fc from 'fast-check'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { MessageSplitter } from './message-splitter.ts'

/** AWS's own codec, of the official SDK. */
const official = new EventStreamCodec(toUtf8, fromUtf8)

const name = fc.string({ minLength: 1, maxLength: 20 }).filter(text => text !== '__proto__')

/** A header of any type; the texts are what is read of them. */
const header = fc.oneof(
  fc.string({ maxLength: 60 }).map(value => ({ type: 'string', value }) as const),
  fc.boolean().map(value => ({ type: 'boolean', value }) as const),
  fc.integer({ min: -128, max: 127 }).map(value => ({ type: 'byte', value }) as const),
  fc.integer({ min: -32_768, max: 32_767 }).map(value => ({ type: 'short', value }) as const),
  fc.integer().map(value => ({ type: 'integer', value }) as const),
  fc.integer().map(value => ({ type: 'long', value: Int64.fromNumber(value) }) as const),
  fc.uint8Array({ maxLength: 60 }).map(value => ({ type: 'binary', value }) as const),
  fc.date({ noInvalidDate: true }).map(value => ({ type: 'timestamp', value }) as const),
  fc.uuid().map(value => ({ type: 'uuid', value }) as const),
)

const message = fc.record({
  headers: fc.dictionary(name, header, { maxKeys: 6 }).map(headers => ({ ...headers })),
  body: fc.uint8Array({ maxLength: 300 }),
})

function split(pieces: readonly Buffer[]) {
  const splitter = new MessageSplitter()
  return pieces.flatMap(piece => splitter.push(piece))
}

describe('MessageSplitter', () => {
  it('reads what the official codec writes, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), cutPlaces, (messages, places) => {
        const bytes = Buffer.concat(messages.map(each => official.encode(each)))
        const read = split(cutBytes(bytes, places))
        const texts = messages.map(({ headers, body }) => ({
          headers: Object.fromEntries(
            Object.entries(headers).flatMap(([key, { type, value }]) => (type === 'string' ? [[key, value]] : [])),
          ),
          payload: Buffer.from(body),
        }))
        assert.deepEqual(read, texts)
      }),
    )
  })

  it('refuses a message of which any byte was changed, or waits for bytes that never come', () => {
    const bytes = Buffer.from(
      official.encode({ headers: { ':event-type': { type: 'string', value: 'chunk' } }, body: Buffer.from('{}') }),
    )
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const damaged = Buffer.from(bytes)
        damaged.writeUInt8(damaged.readUInt8(place) ^ change, place)
        assert.throws(() => split([damaged]), RangeError)
      }),
    )
  })
})

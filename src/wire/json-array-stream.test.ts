import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { target } from '../../test/support/target.ts'
import { generateContent } from './generate-content/index.ts'
import { JsonArrayStream } from './json-array-stream.ts'

const EVENTS = ['Hel', 'lo'].map(text => ({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }))
const LAST = { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 1 } }

function open(): JsonArrayStream {
  const facts = generateContent.passThrough.readRequest({ model: 'm', stream: true, contents: [{ parts: [] }] })
  return new JsonArrayStream(generateContent.passThrough.editStream(facts, target()))
}

function sent(stream: JsonArrayStream, events: readonly unknown[]): string {
  const bytes = Buffer.from(events.map(event => `data: ${JSON.stringify(event)}\r\n\r\n`).join(''))
  return [...bytes].map(byte => Buffer.from(stream.push(Buffer.from([byte])) ?? '').toString()).join('')
}

describe('JsonArrayStream', () => {
  it('is one array of the events, wherever the bytes were cut', () => {
    const stream = open()
    const text = sent(stream, [...EVENTS, LAST]) + Buffer.from(stream.finish()).toString()
    const pieces = JSON.parse(text) as typeof EVENTS
    assert.deepEqual(
      pieces.slice(0, 2).map(piece => piece.candidates),
      EVENTS.map(event => event.candidates),
    )
    assert.equal(stream.observed.isFinished, true)
  })

  it('stays an array when white space shows that it is alive, when it breaks off, and when it has no events', () => {
    const broken = open()
    const begun = sent(broken, EVENTS.slice(0, 1)) + Buffer.from(broken.keepAlive).toString()
    const fault = Buffer.from(broken.encodeFault(new Fault('upstream_error', 'Gone.'))).toString()
    const pieces = JSON.parse(begun + fault) as { error?: { message: string } }[]
    assert.equal(pieces.at(-1)?.error?.message, 'Gone.')
    assert.deepEqual(JSON.parse(Buffer.from(open().finish()).toString()), [])
  })
})

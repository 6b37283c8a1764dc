import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { applyEdits, setMember } from '../json/edit.ts'
import { type EventEditor, SseEditor, type Verdict } from './editor.ts'

/** A format that renames `x` to 0, keeps `secret` events to itself and takes `bad` ones for errors. */
class PlainEditor implements EventEditor {
  readonly endMarker = 'END'
  readonly usage = undefined
  readonly isFinished = false
  outputBytes = 0

  readEvent(event: Readonly<Record<string, unknown>>): Fault | Verdict {
    this.outputBytes += 1
    if ('bad' in event) return new Fault('upstream_error', 'It is bad.')
    if ('last' in event) return 'end'
    return 'secret' in event ? 'drop' : 'keep'
  }

  editFrame(event: Readonly<Record<string, unknown>>, frame: Buffer, start: number, end: number): Buffer {
    return 'x' in event ? applyEdits(frame, [setMember(frame, 'x', '0', start, end)]) : frame
  }

  endFrames(): Buffer {
    return Buffer.from('data: END (ours)\n\n')
  }

  encodeFault(fault: Fault): Buffer {
    return Buffer.from(`data: ${fault.message}\n\n`)
  }
}

interface Edited {
  readonly output: string
  readonly last: string
  readonly fault: string | undefined
  readonly hasEnded: boolean
  readonly events: number
}

/** What goes to the client while the stream runs, and what ends it. */
function edit(...pieces: (Buffer | string)[]): Edited {
  const editor = new SseEditor(new PlainEditor())
  let output = ''
  for (const piece of pieces) {
    if (editor.fault || editor.hasEnded) break
    output += Buffer.from(editor.push(Buffer.from(piece)) ?? []).toString()
  }
  const { fault, hasEnded } = editor
  const last = fault ? '' : Buffer.from(editor.finish()).toString()
  return { output, last, fault: fault?.message, hasEnded, events: editor.observed.outputBytes }
}

describe('SseEditor', () => {
  it('keeps every byte of an event but for the edits', () => {
    const { output } = edit('data:{ "a": 1.50 }\r\n\r\ndata: {"x":{"y":1} , "b":"é"}\n\ndata: [1]\r\r\n')
    assert.equal(output, 'data:{ "a": 1.50 }\r\n\r\ndata: {"x":0 , "b":"é"}\n\ndata: [1]\r\r\n')
  })

  it('passes comments and events without data on as they are', () => {
    const text = ': keep-alive\n\nid: 1\nretry: 5\n\n\n'
    assert.equal(edit(text).output, text)
  })

  it('makes a comment of an empty event, which clients would take for broken JSON', () => {
    for (const empty of ['data:\n\n', 'data: \n\n', 'data\n\n', 'data:\r\n\r\n', 'event: ping\ndata:\n\n']) {
      const { output, fault } = edit(`${empty}data: {"a":1}\n\n`)
      assert.equal(fault, undefined)
      assert.equal(output, ':\n\ndata: {"a":1}\n\n')
    }
  })

  it('reads events of several lines and sends them on as one line, under their name', () => {
    const { output } = edit(': note\nevent: update\ndata: {"x":1,\ndata: "b":2}\nid: 7\n\n')
    assert.equal(output, 'event: update\ndata: {"x":0, "b":2}\n\n')
  })

  it('reads a first event behind a byte order mark', () => {
    assert.equal(edit('\uFEFFdata: {"x":1}\n\n').output, 'data: {"x":0}\n\n')
  })

  it('keeps dropped events from the client', () => {
    assert.equal(edit('data: {"secret":1}\n\ndata: {"a":1}\n\n').output, 'data: {"a":1}\n\n')
  })

  it('holds the end marker back until finish, and reads nothing after it', () => {
    const { output, last, hasEnded } = edit('data: {"a":1}\n\ndata: END\n\ndata: {"late":1}\n\n')
    assert.deepEqual([output, last, hasEnded], ['data: {"a":1}\n\n', 'data: END\n\n', true])
  })

  it('holds back the event that a format ends its streams with, under its name', () => {
    const end = edit('data: {"a":1}\n\nevent: stop\r\ndata: {"last": 1,"x":1}\r\n\r\ndata: {"late":1}\n\n')
    assert.deepEqual(
      [end.output, end.last, end.hasEnded],
      ['data: {"a":1}\n\n', 'event: stop\r\ndata: {"last": 1,"x":0}\r\n\r\n', true],
    )
    assert.equal(edit('event: stop\nid: 7\ndata: {"last":1}\n\n').last, 'event: stop\ndata: {"last":1}\n\n')
  })

  it('ends a good stream by itself when the upstream sent no end marker', () => {
    const { last, hasEnded } = edit('data: {"a":1}\n\n')
    assert.deepEqual([last, hasEnded], ['data: END (ours)\n\n', false])
  })

  it('completes a last event that lacks its blank line', () => {
    assert.equal(edit('data: {"x":1}').last, 'data: {"x":0}\n\ndata: END (ours)\n\n')
    assert.equal(edit('data: {"a":1}\n\ndata: END').last, 'data: END\n\n')
  })

  it('never lets half an event through', () => {
    assert.equal(edit('data: {"a":1}\n\ndata: {"b":').output, 'data: {"a":1}\n\n')
  })

  it('stops at an error event and at broken JSON, after what came before', () => {
    const bad = edit('data: {"a":1}\n\ndata: {"bad":1}\n\ndata: {"b":1}\n\n')
    assert.deepEqual([bad.output, bad.fault], ['data: {"a":1}\n\n', 'It is bad.'])
    const broken = edit('data: {"a":1}\n\ndata: {"b":\n\n')
    assert.equal(broken.output, 'data: {"a":1}\n\n')
    assert.match(broken.fault ?? '', /malformed/)
  })

  it('refuses an event without bounds', () => {
    const mebibyte = 'x'.repeat(1024 * 1024)
    const { fault } = edit('data: ', ...Array.from({ length: 17 }, () => mebibyte))
    assert.match(fault ?? '', /too large/)
  })

  it('gives the same bytes wherever the stream is cut', () => {
    const frame = fc.constantFrom(
      ['data: {"a":1}'],
      ['data:{"x": {"y":"é€😀"}}'],
      ['data: {"x":1,', 'data: "b":2}'],
      ['event: update', 'data: {"x":[1,2]}'],
      ['data: {"secret":1}'],
      [': keep-alive'],
      ['data: '],
      [],
      ['id: 1', 'data: {"x":"\\r\\n"}'],
    )
    const stream = fc
      .tuple(fc.array(frame, { maxLength: 6 }), fc.constantFrom('\n', '\r\n', '\r'), fc.boolean())
      .map(([frames, end, isEnded]) =>
        [...frames, ...(isEnded ? [['data: END']] : [])].map(lines => [...lines, '', ''].join(end)).join(''),
      )
      .map(text => Buffer.from(text))
    fc.assert(
      fc.property(stream, cutPlaces, (bytes, places) => {
        const whole = edit(bytes)
        assert.deepEqual(edit(...cutBytes(bytes, places)), whole)
        assert.deepEqual(edit(...Array.from(bytes, byte => Buffer.of(byte))), whole)
      }),
      { numRuns: 300 },
    )
  })
})

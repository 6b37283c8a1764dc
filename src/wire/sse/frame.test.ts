import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeFrame, encodeFrame, singleDataSpan } from './frame.ts'

function decode(text: string) {
  return decodeFrame(Buffer.from(text))
}

/** Text that a frame can carry: line ends inside data are line feeds, those inside an event's name do not exist. */
const data = fc.string({ unit: 'binary' }).map(text => text.replaceAll('\r', ''))
const eventName = fc.string({ unit: 'grapheme', minLength: 1 }).map(text => text.replace(/[\r\n]/g, ''))

describe('decodeFrame', () => {
  it('joins several data lines with line feeds', () => {
    assert.deepEqual(decode('data: a\ndata:b\r\ndata\ndata:  c\n\n'), { event: undefined, data: 'a\nb\n\n c' })
  })

  it('keeps the last event name', () => {
    assert.deepEqual(decode('event: first\nevent:second\ndata: x\n\n'), { event: 'second', data: 'x' })
  })

  it('finds no data in comments, keep-alives and fields that mean nothing to a proxy', () => {
    for (const text of [': keep-alive\n\n', '\n', 'id: 1\nretry: 10\n\n', 'datum: x\n\n', ' data: x\n\n']) {
      assert.deepEqual(decode(text), { event: undefined, data: undefined })
    }
  })

  it('skips a byte order mark at the start', () => {
    assert.deepEqual(decode('\uFEFFdata: x\n\n'), { event: undefined, data: 'x' })
  })

  it('tells an empty data line from none', () => {
    assert.deepEqual(decode('data:\n\n'), { event: undefined, data: '' })
  })
})

describe('encodeFrame', () => {
  it('writes a line for the event, a line for each line of data, and a blank line', () => {
    assert.equal(String(encodeFrame({ event: 'ping', data: 'a\nb' })), 'event: ping\ndata: a\ndata: b\n\n')
  })

  it('is undone by decodeFrame', () => {
    fc.assert(
      fc.property(fc.option(eventName, { nil: undefined }), fc.option(data, { nil: undefined }), (event, text) => {
        assert.deepEqual(decodeFrame(encodeFrame({ event, data: text })), { event, data: text })
      }),
    )
  })
})

describe('singleDataSpan', () => {
  const spanned = (text: string) => {
    const bytes = Buffer.from(text)
    const span = singleDataSpan(bytes)
    return span && bytes.toString('utf8', span.start, span.end)
  }

  it('finds the data of a frame that is one data line', () => {
    for (const end of ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '']) {
      assert.equal(spanned(`data: {"a":1}${end}`), '{"a":1}')
      assert.equal(spanned(`data:{"a":1}${end}`), '{"a":1}')
    }
    assert.equal(spanned('data: \n\n'), '')
  })

  it('finds it behind the name of the event', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      assert.equal(spanned(`event: ping${end}data: {"a":1}${end}${end}`), '{"a":1}')
      assert.equal(spanned(`event:ping${end}data:{"a":1}${end}${end}`), '{"a":1}')
    }
  })

  it('leaves every other frame to be decoded line by line', () => {
    for (const text of [
      'data: a\ndata: b\n\n',
      'data: a\rdata: b\r\r',
      ': x\ndata: a\n\n',
      'event: x\nid: 1\ndata: a\n\n',
      'event: x\ndata: a\ndata: b\n\n',
      'event: x\n\n',
      'event: x',
      '\uFEFFdata: a\n\n',
      'datum: a\n\n',
      'data\n\n',
      '\n',
      '',
    ]) {
      assert.equal(spanned(text), undefined, JSON.stringify(text))
    }
  })

  it('agrees with decodeFrame on what the data is', () => {
    fc.assert(
      fc.property(data, text => {
        const frame = encodeFrame({ event: undefined, data: text })
        const span = singleDataSpan(frame)
        const isOneLine = !text.includes('\n')
        assert.equal(span !== undefined, isOneLine)
        if (span) assert.equal(frame.toString('utf8', span.start, span.end), decodeFrame(frame).data)
      }),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { printedStream } from '../../../test/support/arbitrary-sse.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { FrameSplitter } from './split.ts'

const MEBIBYTE = 1024 * 1024

function split(pieces: readonly Buffer[]): { frames: Buffer[]; rest: Buffer | undefined } {
  const splitter = new FrameSplitter({ frameBytesMax: MEBIBYTE })
  const frames = pieces.flatMap(piece => splitter.push(piece))
  return { frames, rest: splitter.flush() }
}

function texts(...pieces: string[]): string[] {
  return split(pieces.map(piece => Buffer.from(piece))).frames.map(String)
}

/** A mark before a blank line joins it to the next frame, which says the same. */
function spoken(frames: readonly Frame[]): Frame[] {
  return frames.filter(({ event, data }) => event !== undefined || data !== undefined)
}

describe('FrameSplitter', () => {
  it('ends a frame at a blank line, whichever of the three line ends is used', () => {
    assert.deepEqual(texts('data: 1\n\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\n\r\n'), [
      'data: 1\n\n',
      'data: 2\r\n\r\n',
      'data: 3\r\r',
      'data: 4\n\r\n',
    ])
  })

  it('takes CR and LF that arrive apart for one line end', () => {
    assert.deepEqual(texts('data: 1\r', '\ndata: 2\r', '\n\r', '\n'), ['data: 1\r\ndata: 2\r\n\r\n'])
    assert.deepEqual(texts('data: 1\r', '\r', 'data: 2\r\r', '\n'), ['data: 1\r\r', 'data: 2\r\r\n'])
  })

  it('gives a frame out as soon as its blank line is there', () => {
    const splitter = new FrameSplitter({ frameBytesMax: MEBIBYTE })
    assert.deepEqual(splitter.push(Buffer.from('data: 1\n')), [])
    assert.deepEqual(splitter.push(Buffer.from('\ndata')).map(String), ['data: 1\n\n'])
    assert.equal(splitter.pendingBytes, 4)
    assert.equal(String(splitter.flush()), 'data')
    assert.equal(splitter.pendingBytes, 0)
  })

  it('waits for the LF that may follow the CR of a blank line, and keeps it with its frame', () => {
    const splitter = new FrameSplitter({ frameBytesMax: MEBIBYTE })
    assert.deepEqual(splitter.push(Buffer.from('data: 1\r\n\r')), [])
    assert.deepEqual(splitter.push(Buffer.from('\n')).map(String), ['data: 1\r\n\r\n'])
    assert.equal(splitter.flush(), undefined)
  })

  it('has nothing left over after a stream that ended with a blank line', () => {
    assert.equal(split([Buffer.from('data: 1\n\n')]).rest, undefined)
  })

  it('refuses a frame that outgrows the limit, however small its pieces', () => {
    const splitter = new FrameSplitter({ frameBytesMax: 10 })
    assert.deepEqual(splitter.push(Buffer.from('data: 1\n\n')).map(String), ['data: 1\n\n'])
    splitter.push(Buffer.from('data: 1234'))
    assert.throws(() => splitter.push(Buffer.from('5')), RangeError)
  })

  it('reads the same frames wherever the stream is cut, and loses no byte', () => {
    fc.assert(
      fc.property(printedStream, cutPlaces, ({ bytes, frames: meant }, places) => {
        const whole = split([bytes])
        const cut = split(cutBytes(bytes, places))
        assert.deepEqual(cut, whole)
        assert.deepEqual(Buffer.concat([...cut.frames, cut.rest ?? Buffer.alloc(0)]), bytes)
        const read = [...cut.frames, ...(cut.rest ? [cut.rest] : [])].map(decodeFrame)
        assert.deepEqual(spoken(read), spoken(meant))
      }),
      { numRuns: 500 },
    )
  })

  it('reads the same frames byte by byte, and with one cut at any byte', () => {
    fc.assert(
      fc.property(printedStream, ({ bytes }) => {
        const whole = split([bytes])
        assert.deepEqual(split(Array.from(bytes, byte => Buffer.of(byte))), whole)
        for (let at = 0; at <= bytes.length; at++) {
          assert.deepEqual(split([bytes.subarray(0, at), bytes.subarray(at)]), whole)
        }
      }),
      { numRuns: 40 },
    )
  })
})

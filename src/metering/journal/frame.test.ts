import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FRAME_BYTES_MAX, frameBytes, scanFrames, writeFrame } from './frame.ts'

/** Records on disk, and where each one ends. */
function write(payloads: readonly string[]): { bytes: Buffer; ends: number[] } {
  const bytes = Buffer.alloc(payloads.reduce((sum, payload) => sum + frameBytes(payload), 0))
  const ends: number[] = []
  for (const payload of payloads) ends.push(writeFrame(bytes, ends.at(-1) ?? 0, payload))
  return { bytes, ends }
}

function read(bytes: Buffer): string[] {
  return scanFrames(bytes).payloads.map(String)
}

const payloads = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }), { maxLength: 5 })

describe('journal frames', () => {
  it('read back as they were written', () => {
    fc.assert(
      fc.property(payloads, records => {
        const { bytes, ends } = write(records)
        assert.deepEqual(scanFrames(bytes), {
          payloads: records.map(record => Buffer.from(record)),
          bytes: bytes.length,
        })
        assert.equal(ends.at(-1) ?? 0, bytes.length)
      }),
    )
  })

  it('torn at any byte, give every record that is whole and no other', () => {
    fc.assert(
      fc.property(payloads, records => {
        const { bytes, ends } = write(records)
        for (let length = 0; length <= bytes.length; length++) {
          const whole = ends.filter(end => end <= length).length
          const scanned = scanFrames(bytes.subarray(0, length))
          assert.deepEqual(scanned.payloads.map(String), records.slice(0, whole))
          assert.equal(scanned.bytes, whole === 0 ? 0 : ends[whole - 1])
        }
      }),
      { numRuns: 50 },
    )
  })

  it('with any one byte changed, give the records before it and never a wrong one', () => {
    fc.assert(
      fc.property(payloads, fc.integer({ min: 1, max: 255 }), (records, mask) => {
        const { bytes, ends } = write(records)
        for (let at = 0; at < bytes.length; at++) {
          const damaged = Buffer.from(bytes)
          damaged[at] = (damaged[at] as number) ^ mask
          assert.deepEqual(read(damaged), records.slice(0, ends.filter(end => end <= at).length))
        }
      }),
      { numRuns: 50 },
    )
  })

  it('end where a file was enlarged with zeros before it was written', () => {
    const { bytes } = write(['{"a":1}'])
    assert.deepEqual(scanFrames(Buffer.concat([bytes, Buffer.alloc(4096)])).bytes, bytes.length)
    assert.deepEqual(read(Buffer.alloc(4096)), [])
  })

  it('are limited in size, so that a damaged length is never believed', () => {
    const largest = 'x'.repeat(FRAME_BYTES_MAX - 8)
    assert.equal(frameBytes(largest), FRAME_BYTES_MAX)
    assert.deepEqual(read(write([largest]).bytes), [largest])
    assert.throws(() => frameBytes(`${largest}x`), RangeError)
    assert.throws(() => frameBytes(''), RangeError)
    const forged = Buffer.alloc(FRAME_BYTES_MAX + 1)
    forged.writeUInt32LE(FRAME_BYTES_MAX - 7, 0)
    assert.deepEqual(read(forged), [])
  })

  it('count bytes and not characters', () => {
    assert.equal(frameBytes('é€😀'), 8 + 2 + 3 + 4)
  })
})

import { crc32 } from 'node:zlib'

/**
 * A journal record on disk: payload length and CRC-32 of the payload, four bytes each, little-endian, then the
 * payload (UTF-8 JSON). A reader stops at the first record that is incomplete or does not match its checksum: what a
 * kill or a power cut left half-written.
 */
const HEADER_BYTES = 8

/** A length beyond this is damage, not a record. */
const PAYLOAD_BYTES_MAX = 64 * 1024

export const FRAME_BYTES_MAX = HEADER_BYTES + PAYLOAD_BYTES_MAX

/** Bytes that `payload` takes on disk. @throws RangeError when it is larger than a record may be */
export function frameBytes(payload: string): number {
  const bytes = Buffer.byteLength(payload)
  if (bytes === 0 || bytes > PAYLOAD_BYTES_MAX)
    throw new RangeError(`a record has 1 to ${PAYLOAD_BYTES_MAX} bytes, not ${bytes}`)
  return HEADER_BYTES + bytes
}

/** Writes a record into `target`, which has room for it. @returns the offset after it */
export function writeFrame(target: Buffer, offset: number, payload: string): number {
  const start = offset + HEADER_BYTES
  const end = start + target.write(payload, start)
  target.writeUInt32LE(end - start, offset)
  target.writeUInt32LE(crc32(target.subarray(start, end)), offset + 4)
  return end
}

export interface ScannedFrames {
  readonly payloads: Buffer[]
  /** Bytes that hold whole, undamaged records; less than the input's length when its tail is torn. */
  readonly bytes: number
}

/** The whole records at the start of `source`. */
export function scanFrames(source: Buffer): ScannedFrames {
  const payloads: Buffer[] = []
  let offset = 0
  while (offset + HEADER_BYTES <= source.length) {
    const length = source.readUInt32LE(offset)
    const start = offset + HEADER_BYTES
    const end = start + length
    if (length === 0 || length > PAYLOAD_BYTES_MAX || end > source.length) break
    const payload = source.subarray(start, end)
    if (crc32(payload) !== source.readUInt32LE(offset + 4)) break
    payloads.push(payload)
    offset = end
  }
  return { payloads, bytes: offset }
}

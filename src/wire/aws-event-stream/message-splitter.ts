import { crc32 } from 'node:zlib'

/** One message of an AWS event stream. */
export interface EventMessage {
  /** Headers that are texts, which all that say anything about an event are: `:message-type`, `:event-type`, … */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Buffer
}

/** Total length, length of the headers, and the checksum of both, four bytes each. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const MESSAGE_BYTES_MIN = PRELUDE_BYTES + CHECKSUM_BYTES
/** The most that the protocol allows. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024

/**
 * Cuts a byte stream into the messages of `application/vnd.amazon.eventstream` (Smithy, "Amazon Event Stream
 * Specification"), wherever it was split into chunks. Both checksums of every message are compared.
 */
export class MessageSplitter {
  /** Bytes of a message whose end has not come yet. Kept as pieces: a large message is joined once, not per chunk. */
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** Bytes that have to be there before anything more can be read. */
  #wantedBytes = PRELUDE_BYTES

  /**
   * The messages that `chunk` completes.
   *
   * @throws RangeError when the bytes are no event stream or were damaged
   */
  push(chunk: Buffer): EventMessage[] {
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    if (this.#pendingBytes < this.#wantedBytes) return []
    const messages: EventMessage[] = []
    const bytes = this.#pending.length === 1 ? chunk : Buffer.concat(this.#pending)
    let at = 0
    this.#wantedBytes = PRELUDE_BYTES
    while (bytes.length - at >= this.#wantedBytes) {
      const messageBytes = readLength(bytes, at)
      if (bytes.length - at < messageBytes) {
        this.#wantedBytes = messageBytes
        break
      }
      messages.push(decodeMessage(bytes.subarray(at, at + messageBytes)))
      at += messageBytes
    }
    this.#pending = at < bytes.length ? [bytes.subarray(at)] : []
    this.#pendingBytes = bytes.length - at
    return messages
  }
}

function readLength(bytes: Buffer, at: number): number {
  const prelude = bytes.subarray(at, at + PRELUDE_BYTES)
  if (crc32(prelude.subarray(0, PRELUDE_BYTES - CHECKSUM_BYTES)) !== prelude.readUInt32BE(8)) {
    throw new RangeError('the prelude of an event message has a wrong checksum')
  }
  const messageBytes = prelude.readUInt32BE(0)
  const headerBytes = prelude.readUInt32BE(4)
  if (messageBytes > MESSAGE_BYTES_MAX || messageBytes < MESSAGE_BYTES_MIN + headerBytes) {
    throw new RangeError(`an event message of ${messageBytes} bytes cannot be`)
  }
  return messageBytes
}

function decodeMessage(bytes: Buffer): EventMessage {
  const end = bytes.length - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
    throw new RangeError('an event message has a wrong checksum')
  }
  const headersEnd = PRELUDE_BYTES + bytes.readUInt32BE(4)
  return { headers: decodeHeaders(bytes.subarray(PRELUDE_BYTES, headersEnd)), payload: bytes.subarray(headersEnd, end) }
}

const STRING = 7

/** Bytes of a header's value by its type; types that tell their length in two bytes themselves are not among them. */
const VALUE_BYTES: ReadonlyMap<number, number> = new Map([
  [0, 0], // true
  [1, 0], // false
  [2, 1], // byte
  [3, 2], // short
  [4, 4], // integer
  [5, 8], // long
  [8, 8], // timestamp
  [9, 16], // UUID
])
const BYTE_ARRAY = 6

function decodeHeaders(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {}
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes.readUInt8(nameEnd)
    const [start, length] = valueSpan(bytes, nameEnd + 1, type)
    if (type === STRING) headers[name] = bytes.toString('utf8', start, start + length)
    at = start + length
  }
  return headers
}

function valueSpan(bytes: Buffer, at: number, type: number): [start: number, length: number] {
  if (type === STRING || type === BYTE_ARRAY) return [at + 2, bytes.readUInt16BE(at)]
  const length = VALUE_BYTES.get(type)
  if (length === undefined) throw new RangeError(`an event message has a header of the unknown type ${type}`)
  return [at, length]
}

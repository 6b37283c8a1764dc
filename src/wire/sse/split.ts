const LF = 0x0a
const CR = 0x0d

/**
 * Cuts a byte stream into server-sent-event frames: everything up to and including a blank line, where a line ends
 * with LF, CR or CRLF (WHATWG HTML, "Parsing an event stream"). It does not matter where the stream was split into
 * chunks, even inside a character or between CR and LF. Frames keep their bytes, so their concatenation is the input.
 */
export class FrameSplitter {
  readonly #frameBytesMax: number
  /** Bytes of a frame whose end has not come yet. Kept as pieces: a large frame is joined once, not per chunk. */
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** Nothing has been read of the current line yet. */
  #atLineStart = true
  /** The last byte read was a CR; an LF that follows belongs to it. */
  #afterCr = false
  /** The frame under way has its blank line, and waits only for the LF that may follow the line's CR. */
  #isWhole = false

  constructor({ frameBytesMax }: { frameBytesMax: number }) {
    this.#frameBytesMax = frameBytesMax
  }

  /** Bytes of the frame under way. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /**
   * The frames that `chunk` completes.
   *
   * @throws RangeError when a frame grows beyond the limit
   */
  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = []
    let frameStart = 0
    let at = 0
    if (this.#afterCr && chunk.length > 0) {
      this.#afterCr = false
      if (chunk[0] === LF) at = 1
      if (this.#isWhole) {
        this.#isWhole = false
        frames.push(this.#take(chunk.subarray(0, at)))
        frameStart = at
      }
    }
    const hasCr = chunk.includes(CR)
    while (at < chunk.length) {
      const end = hasCr ? nextLineEnd(chunk, at) : chunk.indexOf(LF, at)
      if (end === -1) {
        this.#atLineStart = false
        break
      }
      const isBlank = this.#atLineStart && end === at
      at = this.#skipLineEnd(chunk, end)
      this.#atLineStart = true
      if (isBlank && this.#afterCr) this.#isWhole = true
      else if (isBlank) {
        frames.push(this.#take(chunk.subarray(frameStart, at)))
        frameStart = at
      }
    }
    if (frameStart < chunk.length) this.#keep(chunk.subarray(frameStart))
    return frames
  }

  /** What remains when the stream has ended: a frame without its blank line or the end of that line, or nothing. */
  flush(): Buffer | undefined {
    return this.#pendingBytes === 0 ? undefined : this.#take(Buffer.alloc(0))
  }

  #skipLineEnd(chunk: Buffer, end: number): number {
    if (chunk[end] === LF) return end + 1
    if (end + 1 === chunk.length) this.#afterCr = true
    return chunk[end + 1] === LF ? end + 2 : end + 1
  }

  #keep(bytes: Buffer): void {
    this.#pendingBytes += bytes.length
    if (this.#pendingBytes > this.#frameBytesMax) {
      throw new RangeError(`an event is larger than ${this.#frameBytesMax} bytes`)
    }
    this.#pending.push(bytes)
  }

  #take(last: Buffer): Buffer {
    if (this.#pending.length === 0) return last
    const frame = Buffer.concat([...this.#pending, last])
    this.#pending = []
    this.#pendingBytes = 0
    return frame
  }
}

function nextLineEnd(chunk: Buffer, from: number): number {
  const lf = chunk.indexOf(LF, from)
  const cr = chunk.indexOf(CR, from)
  if (lf === -1 || cr === -1) return Math.max(lf, cr)
  return Math.min(lf, cr)
}

const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = Buffer.from('\r\n0\r\n\r\n')
/** Events end with a blank line; where lines end as those of the chunked body do, the brace tells the two apart. */
const EVENT_ENDS = ['\n\n', '}\r\n\r\n'].map(end => Buffer.from(end))
const EMPTY: Buffer = Buffer.alloc(0)
const STATUS_OFFSET = 'HTTP/1.1 '.length

/**
 * Reads HTTP/1.1 answers just far enough to know where each ends and how many server-sent events it had. What a
 * generator spends on reading it cannot spend on asking.
 */
export class AnswerReader {
  /** Bytes of a head whose end has not come. */
  #head = EMPTY
  /** Bytes that a body of known length still lacks; `undefined` for a chunked one. */
  #missing: number | undefined
  /** The last bytes seen: what ends a body or an event may arrive in two pieces. */
  #tail = EMPTY
  #isInBody = false
  status = 0
  events = 0

  /** @returns whether `bytes` end the answer */
  push(bytes: Buffer): boolean {
    if (this.#isInBody) return this.#readBody(bytes)
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
    const end = head.indexOf(HEAD_END)
    this.#head = head
    if (end === -1) return false
    this.#head = EMPTY
    this.#isInBody = true
    this.#tail = EMPTY
    this.events = 0
    const text = head.toString('latin1', 0, end)
    this.status = Number(text.slice(STATUS_OFFSET, STATUS_OFFSET + 3))
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
    this.#missing = length === undefined ? undefined : Number(length)
    // The line end before the body counts for a body that has no chunk at all.
    return this.#readBody(head.subarray(this.#missing === undefined ? end + 2 : end + HEAD_END.length))
  }

  #readBody(bytes: Buffer): boolean {
    if (this.#missing !== undefined) {
      this.#missing -= bytes.length
      if (this.#missing <= 0) this.#isInBody = false
    } else {
      const seen = this.#tail.length === 0 ? bytes : Buffer.concat([this.#tail, bytes])
      this.#countEvents(seen)
      const tail = seen.subarray(-CHUNKED_END.length)
      if (tail.equals(CHUNKED_END)) this.#isInBody = false
      this.#tail = Buffer.from(tail)
    }
    return !this.#isInBody
  }

  /** Events that end within `seen`, but for those that had ended in the tail already. */
  #countEvents(seen: Buffer): void {
    for (const end of EVENT_ENDS) {
      let at = seen.indexOf(end, Math.max(0, this.#tail.length - end.length + 1))
      while (at !== -1) {
        this.events += 1
        at = seen.indexOf(end, at + end.length)
      }
    }
  }
}

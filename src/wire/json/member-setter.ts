import { applyEdits, setMember } from './edit.ts'

const QUOTE = 0x22

/**
 * Sets one member in object after object of a stream. They begin alike (`id`, `object`, `created`, `model`), so where
 * the bytes up to the end of the member's value are those of the object before, nothing need be looked for.
 */
export class MemberSetter {
  readonly #key: string
  readonly #json: string
  /** The bytes up to the end of the value, as they came and as they go on. */
  #head: Buffer | undefined
  #newHead: Buffer = Buffer.alloc(0)

  constructor(key: string, json: string) {
    this.#key = key
    this.#json = json
  }

  /** `bytes` with the member set in the object that lies there from `start` to `end`. */
  set(bytes: Buffer, start: number, end: number): Buffer {
    const head = this.#head
    if (head && bytes.length > head.length && bytes.compare(head, 0, head.length, 0, head.length) === 0) {
      const out = Buffer.allocUnsafe(bytes.length - head.length + this.#newHead.length)
      out.set(this.#newHead)
      out.set(bytes.subarray(head.length), this.#newHead.length)
      return out
    }
    const edit = setMember(bytes, this.#key, this.#json, start, end)
    // Only a string shows where it ends: 12 is also how 123 begins.
    if (bytes[edit.start] === QUOTE) {
      this.#head = Buffer.from(bytes.subarray(0, edit.end))
      this.#newHead = applyEdits(this.#head, [edit])
    }
    return applyEdits(bytes, [edit])
  }
}

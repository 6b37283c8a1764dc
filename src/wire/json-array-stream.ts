import type { Fault } from '#core/fault.ts'
import type { Observed, StreamCodec } from '#core/work.ts'
import { decodeFrame } from './sse/frame.ts'
import { FrameSplitter } from './sse/split.ts'

const SEPARATOR = ',\r\n'
const KEEP_ALIVE = Buffer.from('\n')

/** The events of a stream as the elements of one JSON array, for clients that know no server-sent events. */
export class JsonArrayStream implements StreamCodec {
  readonly contentType = 'application/json'
  /** White space between elements means nothing. */
  readonly keepAlive: Uint8Array = KEEP_ALIVE
  readonly #events: StreamCodec
  #hasElements = false

  constructor(events: StreamCodec) {
    this.#events = events
  }

  get fault(): Fault | undefined {
    return this.#events.fault
  }

  get hasEnded(): boolean {
    return this.#events.hasEnded
  }

  get observed(): Observed {
    return this.#events.observed
  }

  push(chunk: Buffer): Uint8Array | undefined {
    return this.#elements(this.#events.push(chunk))
  }

  close(): Uint8Array | undefined {
    return this.#elements(this.#events.close())
  }

  finish(): Uint8Array {
    return this.#last(this.#events.finish())
  }

  encodeFault(fault: Fault): Uint8Array {
    return this.#last(this.#events.encodeFault(fault))
  }

  #last(events: Uint8Array): Uint8Array {
    const elements = this.#elements(events) ?? Buffer.alloc(0)
    return Buffer.concat([elements, Buffer.from(this.#hasElements ? ']' : '[]')])
  }

  /** Codecs write whole events, so nothing is left over between two calls. */
  #elements(events: Uint8Array | undefined): Uint8Array | undefined {
    if (!events) return undefined
    const frames = new FrameSplitter({ frameBytesMax: Number.POSITIVE_INFINITY }).push(Buffer.from(events))
    const elements = frames.flatMap(frame => decodeFrame(frame).data ?? [])
    if (elements.length === 0) return undefined
    const opening = this.#hasElements ? SEPARATOR : '['
    this.#hasElements = true
    return Buffer.from(opening + elements.join(SEPARATOR))
  }
}

import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Observed, StreamCodec, Target } from '#core/work.ts'
import type { EventAdapter, Sides } from './adaptation.ts'
import { lossOfEvent } from './answer-losses.ts'
import { namedEvent } from './answer-name.ts'
import type { StreamDecoder, StreamEncoder } from './format.ts'
import { decodeFrame, encodeFrame, type Frame, SSE_CONTENT_TYPE } from './sse/frame.ts'
import { COMMENT } from './sse/keep-alive.ts'
import { FrameSplitter } from './sse/split.ts'

/** A frame may carry a whole image in base64, but not a flood. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024

interface TranslatingStreamOptions {
  readonly decoder: StreamDecoder
  readonly adapt: EventAdapter
  readonly encoder: StreamEncoder
  readonly sides: Sides
  readonly routing: Target['routing']
}

/** Upstream frames in, client frames out, by way of neutral events. */
export class TranslatingStream implements StreamCodec {
  readonly contentType = SSE_CONTENT_TYPE
  readonly keepAlive: Uint8Array
  readonly #decoder: StreamDecoder
  readonly #adapt: EventAdapter
  readonly #encoder: StreamEncoder
  readonly #sides: Sides
  readonly #splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  #routing: Target['routing']
  /** Choices that have begun and not ended. */
  readonly #open = new Set<number>()
  #hasFinished = false
  #hasEnded = false
  #fault: Fault | undefined
  #usage: Usage | undefined
  #outputBytes = 0
  #upstreamId = ''

  constructor({ decoder, adapt, encoder, sides, routing }: TranslatingStreamOptions) {
    this.#decoder = decoder
    this.#adapt = adapt
    this.#encoder = encoder
    this.keepAlive = encoder.keepAlive ? encodeFrame(encoder.keepAlive) : COMMENT
    this.#sides = sides
    this.#routing = routing
  }

  get fault(): Fault | undefined {
    return this.#fault
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get observed(): Observed {
    const isFinished = this.#hasEnded || (this.#hasFinished && this.#open.size === 0)
    return { usage: this.#usage, outputBytes: this.#outputBytes, isFinished, upstreamId: this.#upstreamId }
  }

  push(chunk: Buffer): Uint8Array | undefined {
    let frames: Buffer[]
    try {
      frames = this.#splitter.push(chunk)
    } catch (cause) {
      this.#fault = new Fault('upstream_error', 'The model provider sent an event that is too large.', { cause })
      return undefined
    }
    return this.#pass(frames.flatMap(frame => this.#decoder.push(decodeFrame(frame))))
  }

  close(): Uint8Array | undefined {
    const rest = this.#splitter.flush()
    const events = rest ? this.#decoder.push(decodeFrame(Buffer.concat([rest, Buffer.from('\n\n')]))) : []
    return this.#pass([...events, ...this.#decoder.end()])
  }

  finish(): Uint8Array {
    return this.#encode({ type: 'response-end' }) ?? Buffer.alloc(0)
  }

  encodeFault(fault: Fault): Uint8Array {
    return this.#encode({ type: 'error', fault }) ?? Buffer.alloc(0)
  }

  /** The end is held back: `finish` says it, once the answer is accounted for. */
  #pass(events: readonly CallEvent[]): Uint8Array | undefined {
    const output: Uint8Array[] = []
    for (const event of events) {
      if (this.#fault || this.#hasEnded) break
      this.#note(event)
      if (event.type === 'response-end' || event.type === 'error') break
      const bytes = this.#encode(event)
      if (bytes) output.push(bytes)
    }
    return output.length > 1 ? Buffer.concat(output) : output[0]
  }

  #note(event: CallEvent): void {
    if (event.type === 'response-start') this.#upstreamId = event.id
    else if (event.type === 'part-start') this.#open.add(event.choice)
    else if (event.type === 'part-delta') this.#outputBytes += Buffer.byteLength(event.text)
    else if (event.type === 'usage') this.#usage = event.usage
    else if (event.type === 'response-end') this.#hasEnded = true
    else if (event.type === 'error') this.#fault = event.fault
    else if (event.type === 'choice-end') {
      this.#open.delete(event.choice)
      this.#hasFinished = true
    }
  }

  #encode(event: CallEvent): Uint8Array | undefined {
    const frames = this.#framesOf(this.#adapt(namedEvent(event, this.#sides)))
    const loss = lossOfEvent(event, this.#sides.client)
    const [only, second] = frames
    if (only && !second && loss === undefined) return encodeFrame(this.#withRouting(only))
    if (!only && loss === undefined) return undefined
    const encoded = frames.map(frame => encodeFrame(this.#withRouting(frame)))
    // The headers have gone: a comment is all that is left to say it in.
    if (loss !== undefined) encoded.push(Buffer.from(`: ${loss}\n\n`))
    return Buffer.concat(encoded)
  }

  /** Nearly always there is one event, and it becomes one frame. */
  #framesOf(events: readonly CallEvent[]): readonly Frame[] {
    const [only, second] = events
    return only && !second ? this.#encoder.push(only) : events.flatMap(event => this.#encoder.push(event))
  }

  /** The first event says which way the call went. */
  #withRouting(frame: Frame): Frame {
    if (!this.#routing || !frame.data?.endsWith('}')) return frame
    const data = `${frame.data.slice(0, -1)},"_routing":${JSON.stringify(this.#routing)}}`
    this.#routing = undefined
    return { ...frame, data }
  }
}

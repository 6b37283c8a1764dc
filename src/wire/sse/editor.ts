import { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Observed, StreamCodec } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import { decodeFrame, encodeFrame, SSE_CONTENT_TYPE, singleDataSpan } from './frame.ts'
import { COMMENT } from './keep-alive.ts'
import { FrameSplitter } from './split.ts'

/** A frame may carry a whole image in base64, but not a flood. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024

/** Goes on in place of an event without content, which some hosts send to keep a connection alive. */
const KEEP_ALIVE = Buffer.from(':\n\n')

export type Verdict = 'drop' | 'keep' | 'end'

/** What a format knows about its events when the client speaks the same format as the upstream. */
export interface EventEditor {
  /** Data of the event that ends a stream, where the format has one. */
  readonly endMarker: string | undefined
  /** An event of the format that means nothing, where clients expect one; a comment otherwise. */
  readonly keepAlive?: Uint8Array
  readonly usage: Usage | undefined
  readonly outputBytes: number
  readonly isFinished: boolean
  /** Takes note of an event. `drop` keeps it from the client, `end` is a good stream's last; a fault ends the stream. */
  readEvent(event: Readonly<Record<string, unknown>>): Fault | Verdict
  /** The frame as it goes on to the client; the event's JSON lies in it from `start` to `end`. */
  editFrame(event: Readonly<Record<string, unknown>>, frame: Buffer, start: number, end: number): Buffer
  /** The frames that end a good stream when the upstream sent none. */
  endFrames(): Buffer
  encodeFault(fault: Fault): Buffer
}

/**
 * A stream codec that keeps bytes as they are but for the editor's edits. Whole frames only: half an event never
 * reaches the client, and the end marker stays back until `finish`.
 */
export class SseEditor implements StreamCodec {
  readonly contentType = SSE_CONTENT_TYPE
  readonly keepAlive: Uint8Array
  readonly #editor: EventEditor
  readonly #splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  #endFrame: Buffer | undefined
  #fault: Fault | undefined

  constructor(editor: EventEditor) {
    this.#editor = editor
    this.keepAlive = editor.keepAlive ?? COMMENT
  }

  get fault(): Fault | undefined {
    return this.#fault
  }

  get hasEnded(): boolean {
    return this.#endFrame !== undefined
  }

  get observed(): Observed {
    const { usage, outputBytes, isFinished } = this.#editor
    return { usage, outputBytes, isFinished: isFinished || this.hasEnded }
  }

  push(chunk: Buffer): Uint8Array | undefined {
    let frames: Buffer[]
    try {
      frames = this.#splitter.push(chunk)
    } catch (cause) {
      this.#fault = new Fault('upstream_error', 'The model provider sent an event that is too large.', { cause })
      return undefined
    }
    const kept: Buffer[] = []
    for (const frame of frames) {
      const edited = this.#editFrame(frame)
      if (edited) kept.push(edited)
      if (this.#fault || this.#endFrame) break
    }
    return kept.length > 1 ? Buffer.concat(kept) : kept[0]
  }

  close(): Uint8Array | undefined {
    // The blank line that completes the last event may be missing, but not what the event says: it may be the usage.
    const rest = this.#splitter.flush()
    return rest && this.#editFrame(Buffer.concat([rest, Buffer.from('\n\n')]))
  }

  finish(): Uint8Array {
    if (this.#endFrame) return this.#endFrame
    const last = this.close()
    return Buffer.concat([last ?? Buffer.alloc(0), this.#endFrame ?? this.#editor.endFrames()])
  }

  encodeFault(fault: Fault): Uint8Array {
    return this.#editor.encodeFault(fault)
  }

  #editFrame(frame: Buffer): Buffer | undefined {
    const span = singleDataSpan(frame)
    if (span) return this.#editData(frame, span.start, span.end)
    const { event, data } = decodeFrame(frame)
    // Comments and keep-alives are passed on: they keep the client's connection alive as well.
    if (data === undefined) return frame
    const joined = encodeFrame({ event, data: data.replaceAll('\n', ' ') })
    const prefixBytes = event === undefined ? 0 : Buffer.byteLength(`event: ${event}\n`)
    return this.#editData(joined, prefixBytes + 'data: '.length, joined.length - 2)
  }

  #editData(frame: Buffer, start: number, end: number): Buffer | undefined {
    const text = frame.toString('utf8', start, end)
    if (text === this.#editor.endMarker) {
      this.#endFrame = frame
      return undefined
    }
    if (text.trim() === '') return KEEP_ALIVE
    let event: unknown
    try {
      event = JSON.parse(text)
    } catch (cause) {
      this.#fault = new Fault('upstream_error', 'The model provider sent a malformed event.', { cause })
      return undefined
    }
    if (!isObject(event)) return frame
    const verdict = this.#editor.readEvent(event)
    if (verdict === 'drop') return undefined
    if (verdict instanceof Fault) {
      this.#fault = verdict
      return undefined
    }
    const edited = this.#editor.editFrame(event, frame, start, end)
    if (verdict === 'keep') return edited
    this.#endFrame = edited
    return undefined
  }
}

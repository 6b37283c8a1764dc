import { Fault } from '#core/fault.ts'
import type { Observed, StreamCodec } from '#core/work.ts'
import { decodeAwsException } from '../aws-fault.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { encodeFrame } from '../sse/frame.ts'
import { type EventMessage, MessageSplitter } from './message-splitter.ts'

/** A stream in AWS's framing, for the codec of a format, which takes server-sent events. */
export class UnframedStream implements StreamCodec {
  readonly contentType: string
  readonly keepAlive: Uint8Array
  readonly #codec: StreamCodec
  readonly #splitter = new MessageSplitter()
  #fault: Fault | undefined

  constructor(codec: StreamCodec) {
    this.#codec = codec
    this.contentType = codec.contentType
    this.keepAlive = codec.keepAlive
  }

  get fault(): Fault | undefined {
    return this.#fault ?? this.#codec.fault
  }

  get hasEnded(): boolean {
    return this.#codec.hasEnded
  }

  get observed(): Observed {
    return this.#codec.observed
  }

  push(chunk: Buffer): Uint8Array | undefined {
    const output: Uint8Array[] = []
    for (const message of this.#split(chunk)) {
      const bytes = this.#passOn(message)
      if (bytes) output.push(bytes)
      if (this.fault || this.hasEnded) break
    }
    return output.length > 1 ? Buffer.concat(output) : output[0]
  }

  close(): Uint8Array | undefined {
    return this.#codec.close()
  }

  finish(): Uint8Array {
    return this.#codec.finish()
  }

  encodeFault(fault: Fault): Uint8Array {
    return this.#codec.encodeFault(fault)
  }

  #split(chunk: Buffer): EventMessage[] {
    try {
      return this.#splitter.push(chunk)
    } catch (cause) {
      this.#fault = new Fault('upstream_error', 'The model provider sent a malformed stream.', { cause })
      return []
    }
  }

  #passOn({ headers, payload }: EventMessage): Uint8Array | undefined {
    const type = headers[':message-type']
    if (type === 'event') return this.#codec.push(toFrame(headers[':event-type'], payload))
    // An exception is one that the service's model names; an error is any other, in headers alone.
    const body = tryParse(payload)
    const name = headers[':exception-type'] ?? headers[':error-code'] ?? ''
    this.#fault = decodeAwsException(name, isObject(body) ? body : { message: headers[':error-message'] })
    return undefined
  }
}

/**
 * An event as a server-sent event. Where a service passes on what a model's own API says, that is base64 in `bytes`,
 * and its JSON names its type; other events are JSON themselves, and a header names them.
 */
function toFrame(eventType: string | undefined, payload: Buffer): Buffer {
  if (eventType !== 'chunk') return encodeFrame({ event: eventType, data: payload.toString() })
  const chunk = tryParse(payload)
  const bytes = isObject(chunk) && typeof chunk.bytes === 'string' ? Buffer.from(chunk.bytes, 'base64') : payload
  const event = tryParse(bytes)
  const name = isObject(event) && typeof event.type === 'string' ? event.type : undefined
  return encodeFrame({ event: name, data: bytes.toString() })
}

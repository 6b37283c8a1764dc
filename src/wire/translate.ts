import type { Call } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { Result } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, Exchange, Observed, StreamCodec, Target } from '#core/work.ts'
import { randomBase62 } from '#lib/base62.ts'
import type { AnswerContext, FormatName, StreamDecoder, StreamEncoder, WireFormat } from './format.ts'
import { tryParse } from './json/parse.ts'
import { decodeFrame, encodeFrame, type Frame } from './sse/frame.ts'
import { FrameSplitter } from './sse/split.ts'

/** A frame may carry a whole image in base64, but not a flood. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024

/**
 * Client and upstream speak different formats: everything goes through the neutral form.
 *
 * @throws Fault `unsupported_parameter` for what would change the meaning of the request if it were left out
 */
export function translate(client: WireFormat, upstream: WireFormat, call: Call, target: Target): Exchange {
  assertTranslatable(client, call)
  const { body, warnings } = upstream.encodeRequest(call, target)
  const context: AnswerContext = { publicModel: target.publicModel, wantsStreamUsage: call.wantsStreamUsage }
  return {
    body: Buffer.from(JSON.stringify(body)),
    headers: {},
    warnings,
    decodeAnswer: bytes => translateAnswer(client, upstream, context, target, bytes),
    decodeFault: (status, bytes) => upstream.decodeFault(status, tryParse(bytes)),
    openStream: () =>
      new TranslatingStream({
        decoder: upstream.decodeStream(),
        encoder: client.encodeStream(context),
        client: client.name,
        routing: target.routing,
      }),
  }
}

/** Fields that point to what another host keeps: without them the model would answer something else. */
const POINTERS: Readonly<Partial<Record<FormatName, readonly string[]>>> = Object.freeze({
  responses: ['previous_response_id', 'conversation', 'prompt', 'background'],
  'generate-content': ['cachedContent'],
})

function assertTranslatable({ name }: WireFormat, { extensions }: Call): void {
  for (const param of POINTERS[name] ?? []) {
    const value = extensions[name]?.[param]
    if (value === undefined || value === null || value === false) continue
    const message = `\`${param}\` works only with models whose provider speaks ${name}.`
    throw new Fault('unsupported_parameter', message, { param })
  }
}

function translateAnswer(
  client: WireFormat,
  upstream: WireFormat,
  context: AnswerContext,
  { routing }: Target,
  bytes: Buffer,
): Answer {
  const result = named(upstream.decodeResponse(tryParse(bytes)), client.name)
  const body = client.encodeResponse(result, context)
  return {
    body: Buffer.from(JSON.stringify(routing ? { ...body, _routing: routing } : body)),
    observed: { usage: result.usage, outputBytes: outputBytesOf(result), isFinished: true },
  }
}

/** UTF-8 bytes that the model wrote, tool arguments and reasoning included. */
function outputBytesOf({ choices }: Result): number {
  const texts = choices.flatMap(({ parts }) =>
    parts.map(part => {
      if (part.type === 'tool-call') return part.name + part.arguments
      return 'text' in part ? part.text : ''
    }),
  )
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** How ids of answers begin in each format. */
const ID_PREFIXES: Readonly<Record<FormatName, string>> = Object.freeze({
  'chat-completions': 'chatcmpl-',
  messages: 'msg_',
  responses: 'resp_',
  'generate-content': '',
})

const ID_DIGITS = 24

/** With an id and a time of our own where the upstream gave none: SDKs take an answer without them for broken. */
function named<T extends { readonly id: string; readonly createdAt: number }>(answer: T, client: FormatName): T {
  return {
    ...answer,
    id: answer.id || ID_PREFIXES[client] + randomBase62(ID_DIGITS),
    createdAt: answer.createdAt || Math.floor(Date.now() / 1000),
  }
}

interface TranslatingStreamOptions {
  readonly decoder: StreamDecoder
  readonly encoder: StreamEncoder
  readonly client: FormatName
  readonly routing: Target['routing']
}

/** Upstream frames in, client frames out, by way of neutral events. */
class TranslatingStream implements StreamCodec {
  readonly #decoder: StreamDecoder
  readonly #encoder: StreamEncoder
  readonly #client: FormatName
  readonly #splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  #routing: Target['routing']
  /** Choices that have begun and not ended. */
  readonly #open = new Set<number>()
  #hasFinished = false
  #hasEnded = false
  #fault: Fault | undefined
  #usage: Usage | undefined
  #outputBytes = 0

  constructor({ decoder, encoder, client, routing }: TranslatingStreamOptions) {
    this.#decoder = decoder
    this.#encoder = encoder
    this.#client = client
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
    return { usage: this.#usage, outputBytes: this.#outputBytes, isFinished }
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
    if (event.type === 'part-start') this.#open.add(event.choice)
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
    const frames = this.#encoder.push(event.type === 'response-start' ? named(event, this.#client) : event)
    if (frames.length === 0) return undefined
    return Buffer.concat(frames.map(frame => encodeFrame(this.#withRouting(frame))))
  }

  /** The first event says which way the call went. */
  #withRouting(frame: Frame): Frame {
    if (!this.#routing || !frame.data?.endsWith('}')) return frame
    const data = `${frame.data.slice(0, -1)},"_routing":${JSON.stringify(this.#routing)}}`
    this.#routing = undefined
    return { ...frame, data }
  }
}

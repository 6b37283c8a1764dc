import { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, Observed, RoutingInfo, StreamCodec, Target } from '#core/work.ts'
import type { PassThrough, RequestFacts } from '../format.ts'
import { addMember, applyEdits, type Edit, setMember } from '../json/edit.ts'
import { findMember } from '../json/members.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { type EventEditor, SseEditor, type Verdict } from '../sse/editor.ts'
import { encodeFrame } from '../sse/frame.ts'
import { validateRequest } from './decode-request.ts'
import { encodeFaultFrame, frame, PING } from './encode-stream.ts'
import { estimate } from './estimate.ts'
import { decodeFault } from './fault.ts'
import { decodeUsage, mergeUsage } from './usage.ts'

type Json = Readonly<Record<string, unknown>>

/** Messages on both sides (see `PassThrough` in `wire/format.ts`). */
export const passThrough: PassThrough = Object.freeze({
  readRequest,
  editRequest,
  editAnswer,
  editStream: (_facts: RequestFacts, target: Target): StreamCodec => new SseEditor(new MessageEditor(target)),
})

function readRequest(body: unknown): RequestFacts {
  validateRequest(body)
  const isStream = body.stream === true
  // Streams of this format always bring their usage.
  return {
    model: body.model,
    isStream,
    wantsStreamUsage: isStream,
    estimate: (limits, measure) => estimate(body, limits, measure),
  }
}

function editRequest(bytes: Buffer, facts: RequestFacts, target: Target): Buffer {
  if (facts.model === target.upstreamModel) return bytes
  return applyEdits(bytes, [setMember(bytes, 'model', JSON.stringify(target.upstreamModel))])
}

function editAnswer(bytes: Buffer, target: Target): Answer {
  const body = tryParse(bytes)
  if (isObject(body) && isObject(body.error)) throw decodeFault(200, body)
  if (!isObject(body) || !Array.isArray(body.content)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that is no message.')
  }
  const edits = editsOf(body, bytes, target, { start: 0, end: bytes.length })
  const observed: Observed = {
    usage: decodeUsage(body.usage),
    outputBytes: body.content.reduce((sum: number, block: unknown) => sum + blockBytes(block), 0),
    isFinished: true,
  }
  return { body: applyEdits(bytes, edits), observed }
}

interface Naming {
  readonly publicModel: string
  readonly routing: RoutingInfo | undefined
}

/** Gives a message the client's name for its model, and says where the request went when that is wanted. */
function editsOf(message: Json, bytes: Buffer, naming: Naming, { start, end }: { start: number; end: number }): Edit[] {
  const edits: Edit[] = []
  if (message.model !== naming.publicModel) {
    edits.push(setMember(bytes, 'model', JSON.stringify(naming.publicModel), start, end))
  }
  if (naming.routing) edits.push(addMember(bytes, '_routing', JSON.stringify(naming.routing), start, end))
  return edits
}

const PING_BYTES = encodeFrame(PING)

/** Watches and edits the JSON of one event after another. */
class MessageEditor implements EventEditor {
  readonly endMarker = undefined
  readonly keepAlive: Uint8Array = PING_BYTES
  readonly #target: Target
  #usage: Json = {}
  usage: Usage | undefined
  outputBytes = 0
  isFinished = false

  constructor(target: Target) {
    this.#target = target
  }

  readEvent(event: Json): Fault | Verdict {
    if (isObject(event.error)) return decodeFault(200, event)
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) this.#usage = mergeUsage(this.#usage, event.message.usage)
        break
      case 'content_block_start':
        this.outputBytes += blockBytes(event.content_block)
        break
      case 'content_block_delta':
        this.outputBytes += deltaBytes(event.delta)
        break
      case 'message_delta':
        this.#readEnd(event)
        break
      case 'message_stop':
        return 'end'
    }
    return 'keep'
  }

  /** Only here has the output been counted: before, the usage of a stream that is cut would be taken for all of it. */
  #readEnd({ delta, usage }: Json): void {
    if (isObject(usage)) {
      this.#usage = mergeUsage(this.#usage, usage)
      this.usage = decodeUsage(this.#usage)
    }
    if (isObject(delta) && typeof delta.stop_reason === 'string' && delta.stop_reason !== '') this.isFinished = true
  }

  editFrame(event: Json, bytes: Buffer, start: number): Buffer {
    if (event.type !== 'message_start' || !isObject(event.message)) return bytes
    const message = findMember(bytes, 'message', start)
    if (!message) return bytes
    const span = { start: message.valueStart, end: message.valueEnd }
    return applyEdits(bytes, editsOf(event.message, bytes, this.#target, span))
  }

  endFrames(): Buffer {
    return encodeFrame(frame('message_stop', {}))
  }

  encodeFault(fault: Fault): Buffer {
    return encodeFrame(encodeFaultFrame(fault))
  }
}

/** UTF-8 bytes that the model wrote into a block, a tool's name and arguments included. */
function blockBytes(block: unknown): number {
  if (!isObject(block)) return 0
  const bytes = textBytes(block.text) + textBytes(block.thinking)
  const isCall = typeof block.name === 'string' && isObject(block.input)
  if (!isCall) return bytes
  // Before its fragments come, the input of a call is empty.
  const input = JSON.stringify(block.input)
  return bytes + textBytes(block.name) + (input === '{}' ? 0 : textBytes(input))
}

function deltaBytes(delta: unknown): number {
  if (!isObject(delta)) return 0
  return textBytes(delta.text) + textBytes(delta.thinking) + textBytes(delta.partial_json)
}

function textBytes(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

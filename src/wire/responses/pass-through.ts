import type { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, Observed, RoutingInfo, StreamCodec, Target } from '#core/work.ts'
import type { PassThrough, RequestFacts, Stated } from '../format.ts'
import { addMember, applyEdits, type Edit, setMember } from '../json/edit.ts'
import { findMember } from '../json/members.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { type EventEditor, SseEditor } from '../sse/editor.ts'
import { encodeFrame } from '../sse/frame.ts'
import { type Json, stringOf } from './decode-item.ts'
import { validateRequest } from './decode-request.ts'
import { checkResponse } from './decode-response.ts'
import { estimate } from './estimate.ts'
import { decodeFailure, encodeFaultEvent } from './fault.ts'
import { unstoredEdits } from './unstored.ts'
import { decodeUsage } from './usage.ts'

/** Responses on both sides (see `PassThrough` in `wire/format.ts`). */
export const passThrough: PassThrough = Object.freeze({
  readRequest,
  editRequest,
  editAnswer,
  editStream: (_facts: RequestFacts, target: Target, stated?: Stated): StreamCodec =>
    new SseEditor(new ResponseEditor(target, stated)),
})

function readRequest(body: unknown): RequestFacts {
  validateRequest(body)
  return {
    model: body.model,
    isStream: body.stream === true,
    // A stream of this format always ends with its usage.
    wantsStreamUsage: body.stream === true,
    estimate: (limits, measure) => estimate(body, limits, measure),
  }
}

function editRequest(bytes: Buffer, facts: RequestFacts, target: Target): Buffer {
  const edits = unstoredEdits(bytes, target)
  if (facts.model !== target.upstreamModel) edits.push(setMember(bytes, 'model', JSON.stringify(target.upstreamModel)))
  return applyEdits(bytes, edits)
}

function editAnswer(bytes: Buffer, target: Target, stated?: Stated): Answer {
  const body = tryParse(bytes)
  checkResponse(body)
  const edits = statedEdits(bytes, body, stated)
  if (body.model !== target.publicModel) edits.push(setMember(bytes, 'model', JSON.stringify(target.publicModel)))
  if (target.routing) edits.push(addMember(bytes, '_routing', JSON.stringify(target.routing)))
  const outputBytes = body.output.reduce((sum: number, item) => sum + itemBytes(item), 0)
  const observed: Observed = { usage: decodeUsage(body.usage), outputBytes, isFinished: true }
  return {
    body: applyEdits(bytes, edits),
    observed: stated ? { ...observed, upstreamId: stringOf(body.id) } : observed,
  }
}

/** What the gateway states of the response that lies in `bytes`, where it says something else. */
function statedEdits(bytes: Buffer, response: Json, stated: Stated | undefined, from?: number, end?: number): Edit[] {
  const differing = Object.entries(stated ?? {}).filter(([key, value]) => (response[key] ?? null) !== value)
  return differing.map(([key, value]) => setMember(bytes, key, JSON.stringify(value), from, end))
}

/** Events with which a response ends well. */
const ENDINGS = new Set<unknown>(['response.completed', 'response.incomplete'])

/** Watches and edits the JSON of one event after another. */
class ResponseEditor implements EventEditor {
  /** The last event is known by its type. A marker before it means that the answer was cut. */
  readonly endMarker = undefined
  readonly #publicModel: string
  readonly #stated: Stated | undefined
  #routing: RoutingInfo | undefined
  #nextSequenceNumber = 0
  usage: Usage | undefined
  upstreamId: string | undefined
  outputBytes = 0
  isFinished = false

  constructor(target: Target, stated: Stated | undefined) {
    this.#stated = stated
    this.#publicModel = target.publicModel
    this.#routing = target.routing
  }

  readEvent(event: Json): Fault | 'keep' | 'end' {
    if (typeof event.sequence_number === 'number') this.#nextSequenceNumber = event.sequence_number + 1
    const { type, response } = event
    // Read before it is judged: a response that failed may have cost something, too.
    if (isObject(response)) this.usage = decodeUsage(response.usage) ?? this.usage
    if (type === 'error' || isObject(event.error)) return decodeFailure(event)
    if (type === 'response.failed') return decodeFailure(isObject(response) ? response.error : undefined)
    this.outputBytes += eventBytes(event)
    if (!ENDINGS.has(type)) return 'keep'
    this.isFinished = true
    return 'end'
  }

  /** Only events that carry the whole response name the model. The first one says which way the call went. */
  editFrame({ response }: Json, frame: Buffer, start: number, _end: number): Buffer {
    if (!isObject(response)) return frame
    const member = findMember(frame, 'response', start)
    if (!member) return frame
    const { valueStart, valueEnd } = member
    if (this.#stated) this.upstreamId = stringOf(response.id)
    const edits = statedEdits(frame, response, this.#stated, valueStart, valueEnd)
    if (response.model !== undefined && response.model !== this.#publicModel) {
      edits.push(setMember(frame, 'model', JSON.stringify(this.#publicModel), valueStart, valueEnd))
    }
    if (this.#routing) edits.push(addMember(frame, '_routing', JSON.stringify(this.#routing), valueStart, valueEnd))
    this.#routing = undefined
    return applyEdits(frame, edits)
  }

  endFrames(): Buffer {
    return Buffer.alloc(0)
  }

  encodeFault(fault: Fault): Buffer {
    return encodeFrame(encodeFaultEvent(fault, this.#nextSequenceNumber))
  }
}

/** UTF-8 bytes that the model wrote: any delta, and the name of a call. Everything else repeats what deltas said. */
function eventBytes({ type, delta, item }: Json): number {
  if (type === 'response.output_item.added' && isObject(item)) return byteLength(item.name)
  const isWritten = typeof type === 'string' && type.endsWith('.delta') && type !== 'response.audio.delta'
  return isWritten ? byteLength(delta) : 0
}

/** As {@link eventBytes} for an item of a whole answer. */
function itemBytes(item: unknown): number {
  if (!isObject(item)) return 0
  const texts = [item.name, item.arguments, item.input, item.code]
  for (const list of [item.content, item.summary]) {
    if (Array.isArray(list)) texts.push(...list.filter(isObject).flatMap(part => [part.text, part.refusal]))
  }
  return texts.reduce((sum: number, text) => sum + byteLength(text), 0)
}

function byteLength(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

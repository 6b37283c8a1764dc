import type { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, Observed, RoutingInfo, StreamCodec, Target } from '#core/work.ts'
import type { PassThrough, RequestFacts } from '../format.ts'
import { addMember, applyEdits, type Edit, setMember } from '../json/edit.ts'
import { findMember } from '../json/members.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { type EventEditor, SseEditor } from '../sse/editor.ts'
import { encodeFrame } from '../sse/frame.ts'
import type { Json } from './decode-parts.ts'
import { blockReason, readAnswer, wireParts } from './decode-response.ts'
import { estimate } from './estimate.ts'
import { decodeFault, encodeFault } from './fault.ts'
import { isFinishReason } from './finish-reason.ts'
import { readBody } from './read-body.ts'
import { decodeChunkUsage, decodeUsage } from './usage.ts'

/** Generate-content on both sides (see `PassThrough` in `wire/format.ts`). */
export const passThrough: PassThrough = Object.freeze({
  readRequest,
  editRequest,
  editAnswer,
  editStream: (_facts: RequestFacts, target: Target): StreamCodec => new SseEditor(new ChunkEditor(target)),
})

function readRequest(body: unknown): RequestFacts {
  const request = readBody(body)
  const isStream = request.stream === true
  return {
    model: request.model,
    isStream,
    // The format has no option for it: usage always comes.
    wantsStreamUsage: isStream,
    estimate: (limits, measure) => estimate(request, limits, measure),
  }
}

/** The model stands in the path; only bytes that name it nevertheless are changed. */
function editRequest(bytes: Buffer, _facts: RequestFacts, target: Target): Buffer {
  if (!findMember(bytes, 'model')) return bytes
  return applyEdits(bytes, [setMember(bytes, 'model', JSON.stringify(target.upstreamModel))])
}

function editAnswer(bytes: Buffer, target: Target): Answer {
  const body = readAnswer(tryParse(bytes))
  const edits: Edit[] = []
  if (isRenamed(body, target.publicModel)) {
    edits.push(setMember(bytes, 'modelVersion', JSON.stringify(target.publicModel)))
  }
  if (target.routing) edits.push(addMember(bytes, '_routing', JSON.stringify(target.routing)))
  const observed: Observed = {
    usage: decodeUsage(body.usageMetadata),
    outputBytes: candidatesOf(body).reduce((sum, candidate) => sum + generatedBytes(candidate), 0),
    isFinished: true,
  }
  return { body: applyEdits(bytes, edits), observed }
}

/** Not every host names the model in its answers, and no client misses it. */
function isRenamed({ modelVersion }: Json, publicModel: string): boolean {
  return modelVersion !== undefined && modelVersion !== publicModel
}

function candidatesOf({ candidates }: Json): Json[] {
  return Array.isArray(candidates) ? candidates.filter(isObject) : []
}

/** Watches and edits the JSON of one event after another. */
class ChunkEditor implements EventEditor {
  /** A stream just closes. */
  readonly endMarker = undefined
  readonly #publicModel: string
  /** Candidates that have begun and not said why they ended. */
  readonly #open = new Set<unknown>()
  #routing: RoutingInfo | undefined
  #hasFinished = false
  usage: Usage | undefined
  outputBytes = 0

  constructor(target: Target) {
    this.#publicModel = target.publicModel
    this.#routing = target.routing
  }

  get isFinished(): boolean {
    return this.#hasFinished && this.#open.size === 0
  }

  readEvent(chunk: Json): Fault | 'drop' | 'keep' {
    if (isObject(chunk.error)) return decodeFault(200, chunk)
    if (blockReason(chunk) !== undefined) this.#hasFinished = true
    for (const [position, candidate] of candidatesOf(chunk).entries()) {
      this.outputBytes += generatedBytes(candidate)
      const index = candidate.index ?? position
      if (isFinishReason(candidate.finishReason)) {
        this.#open.delete(index)
        this.#hasFinished = true
      } else if (!this.#hasFinished || wireParts(candidate).length > 0) this.#open.add(index)
    }
    // Each count is of the whole answer so far: the last one stands.
    this.usage = decodeChunkUsage(chunk.usageMetadata, { isEnd: this.isFinished }) ?? this.usage
    return 'keep'
  }

  editFrame(chunk: Json, frame: Buffer, start: number, end: number): Buffer {
    const edits: Edit[] = []
    if (isRenamed(chunk, this.#publicModel)) {
      edits.push(setMember(frame, 'modelVersion', JSON.stringify(this.#publicModel), start, end))
    }
    // The first event says which way the call went.
    if (this.#routing) edits.push(addMember(frame, '_routing', JSON.stringify(this.#routing), start, end))
    this.#routing = undefined
    return applyEdits(frame, edits)
  }

  endFrames(): Buffer {
    return Buffer.alloc(0)
  }

  encodeFault(fault: Fault): Buffer {
    return encodeFrame({ event: undefined, data: JSON.stringify(encodeFault(fault).body) })
  }
}

/** UTF-8 bytes that the model wrote into a candidate, thoughts, code and arguments included. */
function generatedBytes(candidate: Json): number {
  return wireParts(candidate).reduce((sum, { text, functionCall, executableCode }) => {
    const written = [
      text,
      ...(isObject(functionCall) ? [functionCall.name, JSON.stringify(functionCall.args ?? {})] : []),
      ...(isObject(executableCode) ? [executableCode.code] : []),
    ]
    return (
      sum + written.reduce<number>((bytes, each) => bytes + (typeof each === 'string' ? Buffer.byteLength(each) : 0), 0)
    )
  }, 0)
}

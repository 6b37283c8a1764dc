import { Fault } from '#core/fault.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, Observed, RoutingInfo, StreamCodec, Target } from '#core/work.ts'
import type { PassThrough, RequestFacts } from '../format.ts'
import { addMember, applyEdits, type Edit, removeMember, setMember } from '../json/edit.ts'
import { scanElements } from '../json/elements.ts'
import { MemberSetter } from '../json/member-setter.ts'
import { findMember } from '../json/members.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { decodeFault, encodeFault } from '../openai-fault.ts'
import { type EventEditor, SseEditor, type Verdict } from '../sse/editor.ts'
import { encodeFrame } from '../sse/frame.ts'
import { translationInstruction } from '../translation-instruction.ts'
import { calledTool } from './called-tool.ts'
import { decodeContent, decodeThought } from './content.ts'
import { decodeTranslation, validateRequest } from './decode-request.ts'
import { estimate } from './estimate.ts'
import { decodeChunkUsage, decodeUsage } from './usage.ts'

type Json = Readonly<Record<string, unknown>>

/** Chat-completions on both sides (see `PassThrough` in `wire/format.ts`). */
export const passThrough: PassThrough = Object.freeze({
  readRequest,
  editRequest,
  editAnswer,
  editStream: (facts: RequestFacts, target: Target): StreamCodec =>
    new SseEditor(new ChunkEditor(target, { hidesUsage: !facts.wantsStreamUsage })),
})

function readRequest(body: unknown): RequestFacts {
  validateRequest(body)
  return {
    model: body.model,
    isStream: body.stream === true,
    wantsStreamUsage: body.stream_options?.include_usage === true,
    translation: decodeTranslation(body.translation_options),
    estimate: (limits, measure) => estimate(body, limits, measure),
  }
}

function editRequest(bytes: Buffer, facts: RequestFacts, target: Target): Buffer {
  const edits: Edit[] = []
  if (facts.model !== target.upstreamModel) edits.push(setMember(bytes, 'model', JSON.stringify(target.upstreamModel)))
  if (facts.isStream && !facts.wantsStreamUsage && target.quirks.streamOptions !== false) {
    edits.push(setMember(bytes, 'stream_options', streamOptions(bytes)))
  }
  if (facts.translation && !target.quirks.translationOptions) {
    edits.push(...removeMember(bytes, 'translation_options'), addInstruction(bytes, facts.translation))
  }
  return applyEdits(bytes, edits)
}

/** Most hosts refuse the options, so that the model is told in words, before everything else. */
function addInstruction(bytes: Buffer, translation: NonNullable<RequestFacts['translation']>): Edit {
  const message = JSON.stringify({ role: 'system', content: translationInstruction(translation) })
  const messages = findMember(bytes, 'messages')
  if (!messages) throw new Error('a request without messages was let through')
  const [first] = scanElements(bytes, messages.valueStart)
  const start = first?.start ?? messages.valueStart + 1
  return { start, end: start, text: first ? `${message},` : message }
}

/** The client's stream options with usage switched on: usage is what the call is billed by. */
function streamOptions(bytes: Buffer): string {
  const member = findMember(bytes, 'stream_options')
  const given: unknown = member && JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd))
  return JSON.stringify({ ...(isObject(given) ? given : {}), include_usage: true })
}

function editAnswer(bytes: Buffer, target: Target): Answer {
  const body = tryParse(bytes)
  if (isObject(body) && isObject(body.error)) throw decodeFault(200, body)
  if (!isObject(body) || !Array.isArray(body.choices)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that is no chat completion.')
  }
  const edits: Edit[] = []
  if (body.model !== target.publicModel) edits.push(setMember(bytes, 'model', JSON.stringify(target.publicModel)))
  if (target.routing) edits.push(addMember(bytes, '_routing', JSON.stringify(target.routing)))
  const observed: Observed = {
    usage: decodeUsage(body.usage),
    outputBytes: body.choices.reduce(
      (sum: number, choice: unknown) => sum + generatedBytes(isObject(choice) ? choice.message : undefined),
      0,
    ),
    isFinished: true,
  }
  return { body: applyEdits(bytes, edits), observed }
}

/** Watches and edits the JSON of one event after another. */
class ChunkEditor implements EventEditor {
  readonly endMarker = '[DONE]'
  readonly #publicModel: string
  readonly #modelSetter: MemberSetter
  readonly #hidesUsage: boolean
  /** Choices that have begun and not ended. */
  readonly #open = new Set<unknown>()
  #routing: RoutingInfo | undefined
  #hasFinished = false
  usage: Usage | undefined
  outputBytes = 0

  constructor(target: Target, { hidesUsage }: { hidesUsage: boolean }) {
    this.#publicModel = target.publicModel
    this.#modelSetter = new MemberSetter('model', JSON.stringify(target.publicModel))
    this.#hidesUsage = hidesUsage
    this.#routing = target.routing
  }

  get isFinished(): boolean {
    return this.#hasFinished && this.#open.size === 0
  }

  readEvent(chunk: Json): Fault | Verdict {
    if (isObject(chunk.error)) return decodeFault(200, chunk)
    const choices: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
    for (const choice of choices) {
      if (!isObject(choice)) continue
      this.outputBytes += generatedBytes(choice.delta)
      // Some hosts send an empty reason where the format has null.
      if (typeof choice.finish_reason !== 'string' || choice.finish_reason === '') this.#open.add(choice.index)
      else {
        this.#open.delete(choice.index)
        this.#hasFinished = true
      }
    }
    this.usage = decodeChunkUsage(chunk) ?? this.usage
    return this.#hidesUsage && isObject(chunk.usage) && choices.length === 0 ? 'drop' : 'keep'
  }

  editFrame(chunk: Json, frame: Buffer, start: number, end: number): Buffer {
    const isRenamed = chunk.model !== undefined && chunk.model !== this.#publicModel
    const routed = this.#routing ? this.#addRouting(frame, start, end) : frame
    return isRenamed ? this.#modelSetter.set(routed, start, end + routed.length - frame.length) : routed
  }

  /** The first event says which way the call went. */
  #addRouting(frame: Buffer, start: number, end: number): Buffer {
    const edit = addMember(frame, '_routing', JSON.stringify(this.#routing), start, end)
    this.#routing = undefined
    return applyEdits(frame, [edit])
  }

  endFrames(): Buffer {
    return encodeFrame({ event: undefined, data: this.endMarker })
  }

  encodeFault(fault: Fault): Buffer {
    return encodeFrame({ event: undefined, data: JSON.stringify(encodeFault(fault).body) })
  }
}

/** UTF-8 bytes that the model wrote into a message or a delta, tool arguments and reasoning included. */
function generatedBytes(message: unknown): number {
  if (!isObject(message)) return 0
  const { content, refusal, tool_calls, function_call } = message
  let bytes = textBytes(decodeThought(message)) + textBytes(refusal)
  if (typeof content === 'string') bytes += Buffer.byteLength(content)
  else for (const said of decodeContent(content)) bytes += said.type === 'opaque' ? 0 : textBytes(said.text)
  if (isObject(function_call)) bytes += callBytes({ function: function_call })
  if (Array.isArray(tool_calls)) for (const call of tool_calls) bytes += isObject(call) ? callBytes(call) : 0
  return bytes
}

function callBytes(call: Json): number {
  const { name, written } = calledTool(call)
  return textBytes(name) + textBytes(written)
}

function textBytes(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

import type { ImagePart, OpaquePart, UrlCitation } from '#core/call.ts'
import type { CallEvent, PartOpening } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { TokenLogprob } from '#core/result.ts'
import type { StreamDecoder } from '../format.ts'
import { isObject } from '../json/parse.ts'
import { JsonProgress } from '../json/progress.ts'
import { decodeFault } from '../openai-fault.ts'
import type { Frame } from '../sse/frame.ts'
import { calledTool } from './called-tool.ts'
import { decodeContent, type Said } from './content.ts'
import { decodeCitations, decodeLogprobs, decodeSources } from './decode-response.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeImages } from './images.ts'
import { decodeCallSignature, decodeDetail } from './reasoning-details.ts'
import { decodeChunkUsage } from './usage.ts'

const FORMAT = 'chat-completions'

type Json = Readonly<Record<string, unknown>>

interface State {
  started: boolean
  /** A terminal event has been emitted. */
  ended: boolean
  readonly choices: Map<number, ChoiceState>
}

interface ChoiceState {
  readonly index: number
  nextPart: number
  finished: boolean
  /** The part under way; `tool` when it is a tool call. */
  open: OpenPart | undefined
  /** Fragments of tool calls that must wait until the one under way is complete, by the upstream's index. */
  readonly waiting: Map<number, ToolFragment[]>
  /** Ids of the tool calls that have begun. */
  readonly toolIds: Set<string>
  hasToolCalls: boolean
  citations: UrlCitation[] | undefined
  /** Each chunk tells all of them that are known by then. */
  sources: UrlCitation[] | undefined
  /** Thoughts were told in words: entries that come later say them again. */
  hasPlainThoughts: boolean
}

interface OpenPart {
  readonly part: number
  readonly kind: PartOpening['kind']
  readonly tool: OpenTool | undefined
  /** What `reasoning_details` said of a thought so far beside its words. */
  seal?: { readonly entry: unknown; readonly signature: string; readonly fields: Json } | undefined
}

interface OpenTool {
  readonly index: number
  readonly id: string | undefined
  readonly kind: ToolFragment['kind']
  readonly progress: JsonProgress
}

interface ToolFragment {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly kind: 'function' | 'custom'
  readonly text: string
  readonly signature: string | undefined
}

/** upstream stream → neutral events (see `WireFormat`). */
export function decodeStream(): StreamDecoder {
  const state: State = { started: false, ended: false, choices: new Map() }
  return {
    push: frame => (state.ended ? [] : decodeFrame(state, frame)),
    end: () => (state.ended ? [] : endStream(state)),
  }
}

function decodeFrame(state: State, { data }: Frame): CallEvent[] {
  if (data === undefined || data === '') return []
  if (data === '[DONE]') return [...endChoices(state), ...endStream(state)]
  let chunk: unknown
  try {
    chunk = JSON.parse(data)
  } catch (cause) {
    return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.', { cause }))
  }
  if (!isObject(chunk)) return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.'))
  if (isObject(chunk.error)) return fail(state, decodeFault(200, chunk))
  return decodeChunk(state, chunk)
}

function fail(state: State, fault: Fault): CallEvent[] {
  state.ended = true
  return [{ type: 'error', fault }]
}

/** Some hosts never say why an answer ended: their marker at the end of the stream is all there is. */
function endChoices(state: State): CallEvent[] {
  return [...state.choices.values()].flatMap(choice => endChoice(choice, undefined))
}

/** A stream that stops before every choice has ended was cut: what the client has is not the answer. */
function endStream(state: State): CallEvent[] {
  const choices = [...state.choices.values()]
  if (choices.length === 0 || choices.some(choice => !choice.finished)) {
    return fail(state, new Fault('upstream_error', 'The model provider ended the stream before the answer was whole.'))
  }
  state.ended = true
  return [{ type: 'response-end' }]
}

function decodeChunk(state: State, chunk: Json): CallEvent[] {
  const events: CallEvent[] = []
  if (!state.started) {
    state.started = true
    events.push({
      type: 'response-start',
      id: typeof chunk.id === 'string' ? chunk.id : '',
      model: typeof chunk.model === 'string' ? chunk.model : '',
      createdAt: typeof chunk.created === 'number' ? chunk.created : 0,
    })
  }
  const sources = decodeSources(chunk)
  for (const wire of Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []) {
    const choice = choiceState(state, wire)
    choice.sources = sources ?? choice.sources
    events.push(...decodeChoice(choice, wire))
    // Some hosts send an empty reason where the format has null.
    const { finish_reason: reason } = wire
    if (typeof reason === 'string' && reason !== '') events.push(...endChoice(choice, reason))
  }
  const usage = decodeChunkUsage(chunk)
  if (usage) events.push({ type: 'usage', usage })
  return events
}

function choiceState(state: State, choice: Json): ChoiceState {
  const index = typeof choice.index === 'number' ? choice.index : 0
  const known = state.choices.get(index)
  if (known) return known
  const fresh: ChoiceState = {
    index,
    nextPart: 0,
    finished: false,
    open: undefined,
    waiting: new Map(),
    toolIds: new Set(),
    hasToolCalls: false,
    citations: undefined,
    sources: undefined,
    hasPlainThoughts: false,
  }
  state.choices.set(index, fresh)
  return fresh
}

type DeltaField = readonly [name: string, decode: (choice: ChoiceState, value: unknown, delta: Json) => CallEvent[]]

/** What each field of a delta means, in the order in which fields of one delta take effect. */
const DELTA_FIELDS: readonly DeltaField[] = [
  ['reasoning_content', plainThought],
  // Some hosts call it `reasoning`; one that fills both repeats itself.
  ['reasoning', (choice, value, delta) => (delta.reasoning_content ? [] : plainThought(choice, value, delta))],
  ['reasoning_details', (choice, value) => detailsOf(value).flatMap(entry => detailDelta(choice, entry))],
  ['content', (choice, value, delta) => decodeContent(value).flatMap(said => saidDelta(choice, said, delta))],
  ['annotations', keepCitations],
  ['refusal', (choice, value) => textDelta(choice, 'refusal', value)],
  ['audio', (choice, value) => textDelta(choice, 'audio', isObject(value) ? value.data : undefined)],
  ['images', (choice, value) => decodeImages(value).flatMap(image => wholePart(choice, image))],
  ['tool_calls', toolDeltas],
  ['function_call', (choice, value) => (isObject(value) ? toolDeltas(choice, [{ index: 0, function: value }]) : [])],
]

function decodeChoice(choice: ChoiceState, wire: Json): CallEvent[] {
  if (choice.finished || !isObject(wire.delta)) return []
  const delta: Json = isObject(wire.logprobs) ? { ...wire.delta, logprobs: wire.logprobs } : wire.delta
  const events: CallEvent[] = []
  for (const [field, decode] of DELTA_FIELDS) {
    const value = delta[field]
    if (value !== undefined && value !== null) events.push(...decode(choice, value, delta))
  }
  return events
}

function detailsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Words of a thought, unless the same delta has them as entries as well. */
function plainThought(choice: ChoiceState, value: unknown, delta: Json): CallEvent[] {
  if (detailsOf(delta.reasoning_details).some(entry => decodeDetail(entry, undefined)?.text)) return []
  const events = textDelta(choice, 'reasoning', value)
  if (events.length > 0) choice.hasPlainThoughts = true
  return events
}

/** A piece of an entry: its words, its signature or both. Encrypted ones come whole and are thoughts of their own. */
function detailDelta(choice: ChoiceState, wire: Json): CallEvent[] {
  const detail = decodeDetail(wire, undefined)
  if (!detail) return []
  const { text, signature = '', encrypted, extensions } = detail
  const fields = extensions?.[FORMAT] ?? {}
  if (encrypted !== undefined) {
    const opening = [...releaseAll(choice), ...openPart(choice, { kind: 'reasoning' })]
    return [...opening, ...closePart(choice, { encrypted, ...(extensions && { extensions }) })]
  }
  if (text === '' && signature === '') return []
  const { open } = choice
  const isOpen = open?.kind === 'reasoning' && (open.seal === undefined || open.seal.entry === wire.index)
  const events = isOpen ? [] : [...releaseAll(choice), ...openPart(choice, { kind: 'reasoning' })]
  const seal = (isOpen && open.seal) || { signature: '', fields: {} }
  if (choice.open) {
    choice.open.seal = {
      entry: wire.index,
      signature: seal.signature + signature,
      fields: { ...seal.fields, ...fields },
    }
  }
  return text === '' || choice.hasPlainThoughts ? events : [...events, partDelta(choice, text)]
}

function textDelta(
  choice: ChoiceState,
  kind: 'text' | 'reasoning' | 'refusal' | 'audio',
  value: unknown,
  delta?: Json,
): CallEvent[] {
  if (typeof value !== 'string' || value === '') return []
  // Calls that wait began before this text, so they come before it.
  const events = choice.open?.kind === kind ? [] : [...releaseAll(choice), ...openPart(choice, { kind })]
  const logprobs = isObject(delta?.logprobs) ? decodeLogprobs(delta.logprobs.content) : undefined
  return [...events, partDelta(choice, value, logprobs)]
}

function saidDelta(choice: ChoiceState, said: Said, delta: Json): CallEvent[] {
  if (said.type !== 'opaque') return textDelta(choice, said.type, said.text, said.type === 'text' ? delta : undefined)
  return wholePart(choice, { ...said, format: FORMAT })
}

function wholePart(choice: ChoiceState, value: ImagePart | OpaquePart): CallEvent[] {
  return [...releaseAll(choice), ...openPart(choice, { kind: 'whole', value }), ...closePart(choice)]
}

function partDelta(choice: ChoiceState, text: string, logprobs?: readonly TokenLogprob[]): CallEvent {
  const part = choice.open?.part ?? 0
  return { type: 'part-delta', choice: choice.index, part, text, ...(logprobs && { logprobs }) }
}

function keepCitations(choice: ChoiceState, value: unknown): CallEvent[] {
  const citations = decodeCitations(value)
  if (citations) choice.citations = [...(choice.citations ?? []), ...citations]
  return []
}

function openPart(choice: ChoiceState, opening: PartOpening, tool?: OpenTool): CallEvent[] {
  const closing = closePart(choice)
  const part = choice.nextPart
  choice.nextPart += 1
  choice.open = { part, kind: opening.kind, tool }
  return [...closing, { type: 'part-start', choice: choice.index, part, ...opening }]
}

type Seals = Pick<Extract<CallEvent, { type: 'part-end' }>, 'signature' | 'encrypted' | 'extensions'>

function closePart(choice: ChoiceState, seals: Seals = sealsOf(choice.open)): CallEvent[] {
  if (!choice.open) return []
  const { part, kind } = choice.open
  choice.open = undefined
  const citations = kind === 'text' ? (choice.citations ?? choice.sources) : undefined
  if (citations) {
    choice.citations = undefined
    choice.sources = undefined
  }
  return [{ type: 'part-end', choice: choice.index, part, ...(citations && { citations }), ...seals }]
}

function sealsOf(open: OpenPart | undefined): Seals {
  if (!open?.seal) return {}
  const { signature, fields } = open.seal
  return {
    ...(signature !== '' && { signature }),
    ...(Object.keys(fields).length > 0 && { extensions: { [FORMAT]: fields } }),
  }
}

function toolDeltas(choice: ChoiceState, value: unknown): CallEvent[] {
  if (!Array.isArray(value)) return []
  return value.filter(isObject).flatMap((call, position) => {
    // A host that leaves out the index means the call's place in the list.
    const index = typeof call.index === 'number' ? call.index : position
    const { kind, name, written } = calledTool(call)
    return toolFragment(choice, index, {
      id: typeof call.id === 'string' && call.id !== '' ? call.id : undefined,
      name: typeof name === 'string' && name !== '' ? name : undefined,
      kind,
      signature: decodeCallSignature(call),
      text: typeof written === 'string' ? written : written ? JSON.stringify(written) : '',
    })
  })
}

/**
 * Hosts may interleave the fragments of parallel calls. A later call's fragments wait until the arguments under way
 * are a whole JSON value, so that no call is closed too early and none loses its end.
 */
function toolFragment(choice: ChoiceState, index: number, fragment: ToolFragment): CallEvent[] {
  if (isBusy(choice) && choice.open?.tool?.index !== index) {
    const waiting = choice.waiting.get(index) ?? []
    waiting.push(fragment)
    choice.waiting.set(index, waiting)
    return []
  }
  return [...writeTool(choice, index, fragment), ...releaseWaiting(choice)]
}

/** A call is under way whose arguments may go on. Free text has no end that could be seen. */
function isBusy({ open }: ChoiceState): boolean {
  return open?.tool !== undefined && !(open.tool.kind === 'function' && open.tool.progress.isComplete)
}

function writeTool(choice: ChoiceState, index: number, fragment: ToolFragment): CallEvent[] {
  const { text } = fragment
  const isOpen = choice.open?.tool?.index === index && !isAnotherCall(choice.open.tool, fragment)
  if (!isOpen && isAfterthought(choice, fragment)) return []
  const events = isOpen ? [] : openTool(choice, index, fragment)
  if (text === '') return events
  choice.open?.tool?.progress.push(text)
  return [...events, partDelta(choice, text)]
}

/** Some hosts number all calls 0, or not at all: a name beside a new id begins a call. */
function isAnotherCall(open: OpenTool, { id, name }: ToolFragment): boolean {
  return open.id !== undefined && id !== undefined && id !== open.id && name !== undefined
}

/** White space after the arguments of a call that is over. */
function isAfterthought({ toolIds }: ChoiceState, { id, name, text }: ToolFragment): boolean {
  return text.trim() === '' && name === undefined && (id === undefined || toolIds.has(id))
}

function openTool(choice: ChoiceState, index: number, fragment: ToolFragment): CallEvent[] {
  const { id, name = '', kind, signature } = fragment
  choice.hasToolCalls = true
  if (id !== undefined) choice.toolIds.add(id)
  const tool: OpenTool = { index, id, kind, progress: new JsonProgress() }
  const seal = signature === undefined ? {} : { signature }
  return openPart(choice, { kind: 'tool-call', id: id ?? '', name, toolKind: kind, ...seal }, tool)
}

/** Lets waiting calls go on in the order in which they began, up to one that is not complete. */
function releaseWaiting(choice: ChoiceState): CallEvent[] {
  const events: CallEvent[] = []
  for (const [index, fragments] of choice.waiting) {
    if (isBusy(choice)) break
    choice.waiting.delete(index)
    for (const fragment of fragments) events.push(...writeTool(choice, index, fragment))
  }
  return events
}

function releaseAll(choice: ChoiceState): CallEvent[] {
  const events: CallEvent[] = []
  while (choice.waiting.size > 0) events.push(...closePart(choice), ...releaseWaiting(choice))
  return events
}

function endChoice(choice: ChoiceState, reason: string | undefined): CallEvent[] {
  if (choice.finished) return []
  const events = releaseAll(choice)
  choice.finished = true
  return [
    ...events,
    ...closePart(choice),
    { type: 'choice-end', choice: choice.index, finish: decodeFinish(reason, choice) },
  ]
}

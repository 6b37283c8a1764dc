import type { ReasoningPart, UrlCitation } from '#core/call.ts'
import type { CallEvent, PartOpening } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { StreamDecoder } from '../format.ts'
import { isObject } from '../json/parse.ts'
import type { Frame } from '../sse/frame.ts'
import {
  decodeAnnotations,
  decodeItem,
  decodeLogprobs,
  decodeSeal,
  FORMAT,
  type Json,
  REASONING_SEPARATOR,
  reasoningText,
  stringOf,
} from './decode-item.ts'
import { decodeFailure } from './fault.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeUsage } from './usage.ts'

interface State {
  started: boolean
  /** A terminal event has been emitted. */
  ended: boolean
  nextPart: number
  hasToolCalls: boolean
  /** The item under way, by the upstream's index. */
  openItem: number | undefined
  openPart: OpenPart | undefined
  /** Content parts of the item under way that have begun. */
  contentParts: number
  readonly finishedItems: Set<number>
  /** Items that come whole when they are done, and are not yet. */
  readonly announcedItems: Set<number>
  /** Events of items that must wait until the one under way is complete, in the order in which these began. */
  readonly waiting: Map<number, Json[]>
}

interface OpenPart {
  readonly part: number
  readonly kind: PartOpening['kind']
  /** Which text of the item is being written: a part's index, or a summary's. */
  text: string
  /** Length of what has come of that text. */
  written: number
  citations: readonly UrlCitation[]
}

/** upstream stream → neutral events (see `WireFormat`). */
export function decodeStream(): StreamDecoder {
  const state: State = {
    started: false,
    ended: false,
    nextPart: 0,
    hasToolCalls: false,
    openItem: undefined,
    openPart: undefined,
    contentParts: 0,
    finishedItems: new Set(),
    announcedItems: new Set(),
    waiting: new Map(),
  }
  const cut = () => new Fault('upstream_error', 'The model provider ended the stream before the answer was whole.')
  return {
    push: frame => (state.ended ? [] : decodeFrame(state, frame)),
    end: () => (state.ended ? [] : fail(state, cut())),
  }
}

function decodeFrame(state: State, { event: name, data }: Frame): CallEvent[] {
  // Some hosts add the marker of another format; what ends a response is an event.
  if (data === undefined || data === '' || data === '[DONE]') return []
  let event: unknown
  try {
    event = JSON.parse(data)
  } catch (cause) {
    return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.', { cause }))
  }
  if (!isObject(event)) return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.'))
  const type = stringOf(event.type) || stringOf(name)
  if (type === 'error' || isObject(event.error)) return fail(state, decodeFailure(event))
  if (Object.hasOwn(RESPONSE_EVENTS, type)) return RESPONSE_EVENTS[type]?.(state, event) ?? []
  return Object.hasOwn(ITEM_EVENTS, type) ? itemEvent(state, { ...event, type }) : []
}

function fail(state: State, fault: Fault): CallEvent[] {
  state.ended = true
  return [{ type: 'error', fault }]
}

type Handler = (state: State, event: Json) => CallEvent[]

const RESPONSE_EVENTS: Readonly<Record<string, Handler>> = Object.freeze({
  'response.created': start,
  'response.queued': start,
  'response.in_progress': start,
  'response.completed': finish,
  'response.incomplete': finish,
  'response.failed': (state, event) => {
    const response = isObject(event.response) ? event.response : {}
    return [...usageOf(response), ...fail(state, decodeFailure(response.error))]
  },
})

function start(state: State, event: Json): CallEvent[] {
  if (state.started) return []
  state.started = true
  const response = isObject(event.response) ? event.response : {}
  const createdAt = typeof response.created_at === 'number' ? response.created_at : 0
  return [{ type: 'response-start', id: stringOf(response.id), model: stringOf(response.model), createdAt }]
}

function usageOf(response: Json): CallEvent[] {
  const usage = decodeUsage(response.usage)
  return usage ? [{ type: 'usage', usage }] : []
}

function finish(state: State, event: Json): CallEvent[] {
  const response = isObject(event.response) ? event.response : {}
  const events = [...start(state, event), ...closeItem(state)]
  while (state.waiting.size > 0) events.push(...releaseWaiting(state), ...closeItem(state))
  // Some hosts send a short answer whole in the last event, and nothing of it before. OpenAI, too, leaves out the end
  // of some items.
  const output = Array.isArray(response.output) ? response.output : []
  const isWhole = state.finishedItems.size === 0
  for (const [index, item] of output.entries()) {
    if (!isWhole && !state.announcedItems.has(index)) continue
    events.push(...itemEvent(state, { type: 'response.output_item.done', output_index: index, item }))
  }
  state.ended = true
  const reason = decodeFinish(response, state.hasToolCalls)
  return [...events, ...usageOf(response), { type: 'choice-end', choice: 0, finish: reason }, { type: 'response-end' }]
}

/** What each event of an item means. */
const ITEM_EVENTS: Readonly<Record<string, Handler>> = Object.freeze({
  'response.output_item.added': (state, { item }) => (isObject(item) ? beginItem(state, item) : []),
  'response.content_part.added': (state, event) => {
    const kind = isObject(event.part) ? CONTENT_KINDS.get(event.part.type) : undefined
    return kind ? beginContent(state, kind, contentIndex(state, event)) : []
  },
  'response.output_text.delta': contentDelta('text'),
  'response.output_text.done': (state, event) => contentRest(state, 'text', contentIndex(state, event), event.text),
  'response.output_text.annotation.added': (state, { annotation }) => {
    const { citations } = decodeAnnotations([annotation])
    if (state.openPart && citations) state.openPart.citations = [...state.openPart.citations, ...citations]
    return []
  },
  'response.refusal.delta': contentDelta('refusal'),
  'response.refusal.done': (state, event) => contentRest(state, 'refusal', contentIndex(state, event), event.refusal),
  'response.content_part.done': (state, event) =>
    isObject(event.part) ? endContent(state, contentIndex(state, event), event.part) : [],
  'response.reasoning_summary_part.added': (state, event) => beginThought(state, summaryOf(event)),
  'response.reasoning_summary_text.delta': (state, event) => thought(state, summaryOf(event), event.delta),
  'response.reasoning_summary_text.done': (state, event) => thoughtRest(state, summaryOf(event), event.text),
  'response.reasoning_text.delta': (state, event) => thought(state, `content ${event.content_index}`, event.delta),
  'response.reasoning_text.done': (state, event) => thoughtRest(state, `content ${event.content_index}`, event.text),
  'response.function_call_arguments.delta': (state, { delta }) => write(state, delta),
  'response.function_call_arguments.done': (state, event) => writeRest(state, event.arguments),
  'response.custom_tool_call_input.delta': (state, { delta }) => write(state, delta),
  'response.custom_tool_call_input.done': (state, { input }) => writeRest(state, input),
  'response.output_item.done': (state, { item }) => (isObject(item) ? endItem(state, item) : closeItem(state)),
})

/**
 * Items may be written side by side, but parts may not: what comes of a later item waits until the one under way is
 * complete. An item that comes whole when it is done, such as a search, holds up none.
 */
function itemEvent(state: State, event: Json): CallEvent[] {
  const index =
    typeof event.output_index === 'number' ? event.output_index : (state.openItem ?? state.finishedItems.size)
  // Some hosts give all items one index: another one begins there.
  if (event.type === 'response.output_item.added') state.finishedItems.delete(index)
  if (state.finishedItems.has(index)) return []
  if (state.openItem !== undefined && state.openItem !== index) {
    const waiting = state.waiting.get(index) ?? []
    waiting.push(event)
    state.waiting.set(index, waiting)
    return []
  }
  state.openItem = index
  const begin = start(state, {})
  const events = ITEM_EVENTS[stringOf(event.type)]?.(state, event) ?? []
  if (event.type === 'response.output_item.added' && isObject(event.item) && !isWritten(event.item)) {
    state.openItem = undefined
    state.announcedItems.add(index)
  }
  return [...begin, ...events, ...(state.openItem === undefined ? releaseWaiting(state) : [])]
}

function isWritten({ type }: Json): boolean {
  return Object.hasOwn(ITEM_ENDS, stringOf(type))
}

function releaseWaiting(state: State): CallEvent[] {
  const events: CallEvent[] = []
  for (const [index, waiting] of state.waiting) {
    if (state.openItem !== undefined) break
    state.waiting.delete(index)
    for (const event of waiting) events.push(...itemEvent(state, event))
  }
  return events
}

function beginItem(state: State, item: Json): CallEvent[] {
  if (state.openPart) return []
  if (item.type === 'reasoning') return beginPart(state, { kind: 'reasoning' }, '')
  const [call] = item.type === 'function_call' || item.type === 'custom_tool_call' ? decodeItem(item) : []
  if (call?.type !== 'tool-call') return []
  state.hasToolCalls = true
  const { id, name, kind: toolKind } = call
  return beginPart(state, { kind: 'tool-call', id, name, toolKind }, '')
}

function beginPart(state: State, opening: PartOpening, text: string): CallEvent[] {
  const closing = closePart(state)
  const part = state.nextPart
  state.nextPart += 1
  state.openPart = { part, kind: opening.kind, text, written: 0, citations: [] }
  return [...closing, { type: 'part-start', choice: 0, part, ...opening }]
}

function closePart(state: State, seal: Pick<ReasoningPart, 'encrypted'> = {}): CallEvent[] {
  if (!state.openPart) return []
  const { part, citations } = state.openPart
  state.openPart = undefined
  return [{ type: 'part-end', choice: 0, part, ...(citations.length > 0 && { citations }), ...seal }]
}

function write(state: State, text: unknown, logprobs?: unknown): CallEvent[] {
  if (!state.openPart || typeof text !== 'string' || text === '') return []
  state.openPart.written += text.length
  const decoded = decodeLogprobs(logprobs)
  return [{ type: 'part-delta', choice: 0, part: state.openPart.part, text, ...(decoded && { logprobs: decoded }) }]
}

/** What the whole text has beyond its deltas: all of it, when a host sends none. */
function writeRest(state: State, whole: unknown): CallEvent[] {
  return typeof whole === 'string' && state.openPart ? write(state, whole.slice(state.openPart.written)) : []
}

const CONTENT_KINDS: ReadonlyMap<unknown, 'text' | 'refusal'> = new Map([
  ['output_text', 'text'],
  ['refusal', 'refusal'],
])

function contentIndex(state: State, event: Json): number {
  return typeof event.content_index === 'number' ? event.content_index : Math.max(state.contentParts - 1, 0)
}

function contentDelta(kind: 'text' | 'refusal'): Handler {
  return (state, event) => [
    ...beginContent(state, kind, contentIndex(state, event)),
    ...write(state, event.delta, event.logprobs),
  ]
}

function beginContent(state: State, kind: 'text' | 'refusal', index: number): CallEvent[] {
  if (state.openPart?.text === String(index)) return []
  state.contentParts = index + 1
  return beginPart(state, { kind }, String(index))
}

function contentRest(state: State, kind: 'text' | 'refusal', index: number, whole: unknown): CallEvent[] {
  const isOver = index < state.contentParts && state.openPart?.text !== String(index)
  if (isOver) return []
  return [...beginContent(state, kind, index), ...writeRest(state, whole)]
}

/** @param index of a part that is under way, or of which nothing has come yet */
function endContent(state: State, index: number, part: Json): CallEvent[] {
  const kind = CONTENT_KINDS.get(part.type)
  // The texts of a thought are content, too, but end with their item.
  if (part.type === 'reasoning_text') return []
  if (!kind) {
    state.contentParts = index + 1
    return opaque(state, { type: 'message', role: 'assistant', content: [part] })
  }
  const events = contentRest(state, kind, index, kind === 'text' ? part.text : part.refusal)
  const { citations } = decodeAnnotations(part.annotations)
  if (state.openPart && citations) state.openPart.citations = citations
  return [...events, ...closePart(state)]
}

function summaryOf(event: Json): string {
  return `summary ${event.summary_index}`
}

function beginThought(state: State, text: string): CallEvent[] {
  const events = state.openPart ? [] : beginPart(state, { kind: 'reasoning' }, '')
  const part = state.openPart
  if (!part || part.text === text) return events
  const separator = part.text === '' ? [] : write(state, REASONING_SEPARATOR)
  part.text = text
  part.written = 0
  return [...events, ...separator]
}

function thought(state: State, text: string, delta: unknown): CallEvent[] {
  return [...beginThought(state, text), ...write(state, delta)]
}

function thoughtRest(state: State, text: string, whole: unknown): CallEvent[] {
  return [...beginThought(state, text), ...writeRest(state, whole)]
}

function endItem(state: State, item: Json): CallEvent[] {
  const end = isWritten(item) ? ITEM_ENDS[stringOf(item.type)] : undefined
  return [...(end ? end(state, item) : opaque(state, item)), ...closeItem(state)]
}

/** What the whole item has beyond what has come of it, by its type. */
const ITEM_ENDS: Readonly<Record<string, Handler>> = Object.freeze({
  message: (state, { content }) => {
    const parts = Array.isArray(content) ? content : []
    const openIndex = state.openPart ? Number(state.openPart.text) : state.contentParts
    return parts.flatMap((part, index) => (index >= openIndex && isObject(part) ? endContent(state, index, part) : []))
  },
  reasoning: (state, item) => {
    const events = beginItem(state, item)
    const rest = state.openPart?.text === '' ? writeRest(state, reasoningText(item)) : []
    return [...events, ...rest, ...closePart(state, decodeSeal(item.encrypted_content))]
  },
  function_call: (state, item) => endCall(state, item, item.arguments),
  custom_tool_call: (state, item) => endCall(state, item, item.input),
})

function endCall(state: State, item: Json, whole: unknown): CallEvent[] {
  return [...beginItem(state, item), ...writeRest(state, whole), ...closePart(state)]
}

/** What only this format knows comes whole, when it is complete. */
function opaque(state: State, value: Json): CallEvent[] {
  return [
    ...beginPart(state, { kind: 'whole', value: { type: 'opaque', format: FORMAT, value } }, ''),
    ...closePart(state),
  ]
}

function closeItem(state: State): CallEvent[] {
  const events = closePart(state)
  if (state.openItem !== undefined) {
    state.finishedItems.add(state.openItem)
    state.announcedItems.delete(state.openItem)
  }
  state.openItem = undefined
  state.contentParts = 0
  return events
}

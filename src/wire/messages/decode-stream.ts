import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { StreamDecoder } from '../format.ts'
import { isObject } from '../json/parse.ts'
import type { Frame } from '../sse/frame.ts'
import { decodeExtensions, missingToolId } from './decode-response.ts'
import { decodeFault } from './fault.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeDelta, endBlock, type OpenBlock, openBlock } from './stream-block.ts'
import { decodeUsage, mergeUsage } from './usage.ts'

type Json = Readonly<Record<string, unknown>>

interface State {
  hasStarted: boolean
  hasFinished: boolean
  /** A terminal event has been emitted. */
  hasEnded: boolean
  id: string
  nextPart: number
  open: OpenBlock | undefined
  /** Events of blocks that began before the one under way has ended, in the order in which they came. */
  waiting: Json[]
  /** All that was said of it so far, as the format words it. */
  usage: Json
  /** What the stream's end says that only this format has. */
  end: Json
}

/** upstream stream → neutral events (see `WireFormat`). */
export function decodeStream(): StreamDecoder {
  const state: State = {
    hasStarted: false,
    hasFinished: false,
    hasEnded: false,
    id: '',
    nextPart: 0,
    open: undefined,
    waiting: [],
    usage: {},
    end: {},
  }
  return {
    push: frame => (state.hasEnded ? [] : decodeFrame(state, frame)),
    end: () => (state.hasEnded ? [] : endStream(state)),
  }
}

function decodeFrame(state: State, { event, data }: Frame): CallEvent[] {
  if (data === undefined || data.trim() === '') return []
  let message: unknown
  try {
    message = JSON.parse(data)
  } catch (cause) {
    return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.', { cause }))
  }
  if (!isObject(message)) return fail(state, new Fault('upstream_error', 'The model provider sent a malformed event.'))
  if (isObject(message.error)) return fail(state, decodeFault(200, message))
  const type = typeof message.type === 'string' ? message.type : (event ?? '')
  const handle = Object.hasOwn(EVENTS, type) ? EVENTS[type] : undefined
  return handle?.(state, message) ?? []
}

function fail(state: State, fault: Fault): CallEvent[] {
  state.hasEnded = true
  return [{ type: 'error', fault }]
}

/** What each event means; `ping` and events that are unknown here mean nothing. */
const EVENTS: Readonly<Record<string, (state: State, event: Json) => CallEvent[]>> = Object.freeze({
  message_start: (state, event) => {
    const message = isObject(event.message) ? event.message : {}
    return isAnother(state, message) ? fail(state, spliced()) : start(state, message)
  },
  content_block_start: inTurn(startBlock),
  content_block_delta: inTurn((state, event) =>
    state.open && isObject(event.delta) ? decodeDelta(state.open, event.delta) : [],
  ),
  content_block_stop: (state, event) => {
    if (isOther(state, event)) {
      state.waiting.push(event)
      return []
    }
    return [...closeBlock(state), ...releaseWaiting(state)]
  },
  message_delta: decodeEnd,
  message_stop: state => [
    // Without a message there is no end of one.
    ...(state.hasStarted ? [...releaseAll(state), ...finish(state, {})] : []),
    ...endStream(state),
  ],
})

/** Some hosts begin anew when their own upstream broke off: what follows does not go on from what was said. */
function isAnother(state: State, { id }: Json): boolean {
  return state.hasStarted && state.nextPart > 0 && id !== state.id
}

function spliced(): Fault {
  return new Fault('upstream_error', 'The model provider began another answer before the first was whole.')
}

/** Blocks come one after another; those of a host that mixes them wait for their turn. */
function inTurn(handle: (state: State, event: Json) => CallEvent[]): (state: State, event: Json) => CallEvent[] {
  return (state, event) => {
    if (!isOther(state, event)) return [...begin(state), ...handle(state, event)]
    state.waiting.push(event)
    return []
  }
}

function isOther({ open }: State, { index }: Json): boolean {
  return open !== undefined && index !== undefined && open.index !== undefined && index !== open.index
}

function releaseWaiting(state: State): CallEvent[] {
  const events: CallEvent[] = []
  const waiting = state.waiting
  if (waiting.length === 0) return events
  state.waiting = []
  for (const event of waiting) events.push(...(EVENTS[String(event.type)]?.(state, event) ?? []))
  return events
}

function releaseAll(state: State): CallEvent[] {
  const events = closeBlock(state)
  while (state.waiting.length > 0) events.push(...releaseWaiting(state), ...closeBlock(state))
  return events
}

function start(state: State, message: Json): CallEvent[] {
  if (state.hasStarted) return []
  state.hasStarted = true
  state.id = typeof message.id === 'string' ? message.id : ''
  state.usage = mergeUsage(state.usage, message.usage)
  const model = typeof message.model === 'string' ? message.model : ''
  // This format does not say when. The output that it counts so early is no more than a beginning.
  const { outputTokens: _, ...input } = decodeUsage(message.usage) ?? {}
  const events: CallEvent[] = [{ type: 'response-start', id: state.id, model, createdAt: 0 }]
  if (input.inputTokens !== undefined) events.push({ type: 'usage', usage: input })
  return events
}

/** Some hosts leave the first event out. */
function begin(state: State): CallEvent[] {
  return state.hasStarted ? [] : start(state, {})
}

function startBlock(state: State, event: Json): CallEvent[] {
  const closing = closeBlock(state)
  const part = state.nextPart
  state.nextPart += 1
  const { open, events } = openBlock(event, part, missingToolId(state.id, part))
  state.open = open
  return [...closing, ...events]
}

function closeBlock(state: State): CallEvent[] {
  const { open } = state
  state.open = undefined
  return open ? endBlock(open) : []
}

const END_FIELDS = new Set(['stop_reason', 'stop_sequence'])

function decodeEnd(state: State, event: Json): CallEvent[] {
  const events = begin(state)
  const delta = isObject(event.delta) ? event.delta : {}
  state.end = { ...state.end, ...delta }
  state.usage = mergeUsage(state.usage, event.usage)
  // Some hosts send an empty reason where the format has null.
  const hasReason = typeof delta.stop_reason === 'string' && delta.stop_reason !== ''
  if (hasReason) events.push(...releaseAll(state), ...finish(state, delta))
  const usage = isObject(event.usage) ? decodeUsage(state.usage) : undefined
  return usage ? [...events, { type: 'usage', usage }] : events
}

function finish(state: State, delta: Json): CallEvent[] {
  if (state.hasFinished) return []
  state.hasFinished = true
  return [{ type: 'choice-end', choice: 0, finish: decodeFinish(delta) }]
}

/** A stream that stops before it has said why was cut: what the client has is not the answer. */
function endStream(state: State): CallEvent[] {
  if (!state.hasFinished) {
    return fail(state, new Fault('upstream_error', 'The model provider ended the stream before the answer was whole.'))
  }
  state.hasEnded = true
  const extensions = decodeExtensions(state.end, END_FIELDS, state.usage)
  return [{ type: 'response-end', ...(Object.keys(extensions).length > 0 && { extensions }) }]
}

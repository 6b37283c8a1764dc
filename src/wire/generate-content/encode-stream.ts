import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Finish, TokenLogprob } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import type { AnswerContext, StreamEncoder } from '../format.ts'
import { joinObjects } from '../json/join.ts'
import type { Frame } from '../sse/frame.ts'
import { encodeCitations, encodeParts, type Json } from './encode-parts.ts'
import { encodeCandidate, encodeHead, encodeLogprobs } from './encode-response.ts'
import { encodeFault } from './fault.ts'
import { encodeUsage } from './usage.ts'

type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

interface State {
  readonly context: AnswerContext
  /** What every chunk says, as JSON. */
  head: string
  usage: Usage | undefined
  /** The part under way, by choice. */
  readonly open: Map<number, OpenPart>
  /** Choices that have ended: they say so in the last chunk, together with the usage. */
  readonly finished: Map<number, Finish>
}

interface OpenPart {
  readonly start: EventOf<'part-start'>
  /** A call's arguments so far: the format has them as an object, so they wait until they are whole. */
  written: string
}

/** neutral events → client stream (see `WireFormat`). */
export function encodeStream(context: AnswerContext): StreamEncoder {
  const head = JSON.stringify(encodeHead({ id: '', createdAt: 0 }, context))
  const state: State = { context, head, usage: undefined, open: new Map(), finished: new Map() }
  return { push: event => (EVENTS[event.type] as (state: State, event: CallEvent) => Frame[])(state, event) }
}

const EVENTS: { readonly [T in CallEvent['type']]: (state: State, event: EventOf<T>) => Frame[] } = Object.freeze({
  'response-start': (state, event) => {
    state.head = JSON.stringify(encodeHead(event, state.context))
    return []
  },
  'part-start': (state, event) => {
    state.open.set(event.choice, { start: event, written: '' })
    return event.kind === 'whole' ? partFrames(state, event.choice, event.value) : []
  },
  'part-delta': (state, event) => {
    const open = state.open.get(event.choice)
    if (!open) return []
    if (open.start.kind === 'tool-call') {
      open.written += event.text
      return []
    }
    return partFrames(state, event.choice, deltaPart(open.start, event.text), event.logprobs)
  },
  'part-end': endPart,
  'choice-end': (state, event) => {
    state.finished.set(event.choice, event.finish)
    return []
  },
  usage: (state, event) => {
    state.usage = event.usage
    return []
  },
  'response-end': state => [
    frame(state, {
      candidates: [...state.finished].map(([index, finish]) => encodeCandidate({ index, parts: [], finish }, {})),
      ...(state.usage && { usageMetadata: encodeUsage(state.usage) }),
    }),
  ],
  error: (_state, event) => [{ event: undefined, data: JSON.stringify(encodeFault(event.fault).body) }],
})

/** A fragment as a part of its own, which is how this format streams. */
function deltaPart(start: EventOf<'part-start'>, text: string): Part | undefined {
  switch (start.kind) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return { type: start.kind, text }
    case 'audio': {
      const { mediaType, format } = start
      return { type: 'audio', source: { kind: 'base64', mediaType, data: text }, format }
    }
    default:
      return undefined
  }
}

/** A signature comes with an empty text after the pieces that it seals, as the vendor sends it. */
function endPart(state: State, { choice, citations, signature }: EventOf<'part-end'>): Frame[] {
  const open = state.open.get(choice)
  state.open.delete(choice)
  if (!open) return []
  const { start, written } = open
  if (start.kind === 'tool-call') {
    const { id, name, toolKind: kind, signature: ofCall } = start
    return partFrames(state, choice, { type: 'tool-call', id, name, kind, arguments: written, signature: ofCall })
  }
  const isText = start.kind === 'text' || start.kind === 'reasoning'
  const sealed =
    isText && signature !== undefined ? encodeParts([{ type: start.kind, text: '', signature }], ignore) : []
  if (sealed.length === 0 && !citations) return []
  return [chunk(state, choice, sealed, citations ? { groundingMetadata: encodeCitations(citations) } : {})]
}

/** What the format cannot say is left out; an answer has nowhere to say so. */
const ignore = () => {}

function partFrames(
  state: State,
  choice: number,
  part: Part | undefined,
  logprobs?: readonly TokenLogprob[] | undefined,
): Frame[] {
  const parts = part ? encodeParts([part], ignore) : []
  if (parts.length === 0) return []
  return [chunk(state, choice, parts, logprobs ? { logprobsResult: encodeLogprobs(logprobs) } : {})]
}

function chunk(state: State, index: number, parts: readonly Json[], extra: Json): Frame {
  return frame(state, { candidates: [{ content: { role: 'model', parts }, index, ...extra }] })
}

function frame({ head }: State, fields: Json): Frame {
  return { event: undefined, data: joinObjects(JSON.stringify(fields), head) }
}

import type { UrlCitation } from '#core/call.ts'
import type { CallEvent, PartOpening } from '#core/call-event.ts'
import type { Finish } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import type { AnswerContext, StreamEncoder } from '../format.ts'
import type { Frame } from '../sse/frame.ts'
import { FORMAT } from './decode-block.ts'
import { encodeCitation } from './encode-response.ts'
import { encodeFault } from './fault.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeUsage } from './usage.ts'

type Json = Record<string, unknown>
type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

interface State {
  readonly context: AnswerContext
  id: string
  /** `message_start` has been written; it waits for the first part, since usage may come before that. */
  hasStarted: boolean
  usage: Usage | undefined
  finish: Finish | undefined
  hasToolCalls: boolean
  /** Blocks begun so far; the newest one has the index below it. */
  blocks: number
  open: OpenPart | undefined
}

interface OpenPart {
  readonly start: EventOf<'part-start'>
  /** Its `content_block_start` has been written. That of reasoning waits: only its end tells whether it can be read. */
  hasBlock: boolean
}

/** neutral events → client stream (see `WireFormat`). */
export function encodeStream(context: AnswerContext): StreamEncoder {
  const state: State = {
    context,
    id: '',
    hasStarted: false,
    usage: undefined,
    finish: undefined,
    hasToolCalls: false,
    blocks: 0,
    open: undefined,
  }
  return {
    keepAlive: PING,
    // The format has one choice: clients of it cannot ask for more.
    push: event =>
      'choice' in event && event.choice !== 0
        ? []
        : (EVENTS[event.type] as (state: State, event: CallEvent) => Frame[])(state, event),
  }
}

const EVENTS: { readonly [T in CallEvent['type']]: (state: State, event: EventOf<T>) => Frame[] } = Object.freeze({
  'response-start': (state, event) => {
    state.id = event.id
    return []
  },
  'part-start': (state, event) => {
    state.open = { start: event, hasBlock: false }
    const frames = begin(state)
    return event.kind === 'reasoning' ? frames : [...frames, ...startBlock(state, state.open)]
  },
  'part-delta': (state, event) => {
    const { open } = state
    if (!open) return []
    return [...startBlock(state, open), ...blockDelta(state, deltaOf(open.start, event.text))]
  },
  'part-end': (state, event) => {
    const { open } = state
    state.open = undefined
    return open ? endPart(state, open, event) : []
  },
  'choice-end': (state, event) => {
    state.finish = event.finish
    return begin(state)
  },
  usage: (state, event) => {
    state.usage = { ...state.usage, ...event.usage }
    return []
  },
  'response-end': (state, event) => {
    const { usage: extraUsage, ...extra } = event.extensions?.[FORMAT] ?? {}
    const finish = state.finish ?? { reason: 'other', raw: undefined }
    return [
      ...begin(state),
      frame('message_delta', {
        delta: { ...encodeFinish(finish, state.hasToolCalls), ...extra },
        // Input is counted here too: of an upstream that tells it last, the first event had a guess.
        usage: {
          ...encodeUsage(usageSoFar(state)),
          ...(extraUsage as Json | undefined),
        },
      }),
      frame('message_stop', {}),
    ]
  },
  error: (_state, event) => [encodeFaultFrame(event.fault)],
})

/** What Anthropic sends while a model has nothing to say. */
export const PING: Frame = { event: 'ping', data: '{"type":"ping"}' }

/** A fault as an event of a stream already begun. */
export function encodeFaultFrame(fault: EventOf<'error'>['fault']): Frame {
  return { event: 'error', data: JSON.stringify(encodeFault(fault).body) }
}

/** SDKs drop an event whose name does not stand before its data as well. */
export function frame(type: string, fields: Json): Frame {
  return { event: type, data: JSON.stringify({ type, ...fields }) }
}

function begin(state: State): Frame[] {
  if (state.hasStarted) return []
  state.hasStarted = true
  const message = {
    id: state.id,
    type: 'message',
    role: 'assistant',
    model: state.context.publicModel,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: encodeUsage(usageSoFar(state)),
  }
  return [frame('message_start', { message })]
}

/** Most upstreams count last, but clients size up a conversation by its first event: a guess serves them, zero does not. */
function usageSoFar({ usage, context }: State): Usage {
  return usage ?? { inputTokens: context.inputTokensEstimate }
}

type BlockStarts = {
  readonly [K in PartOpening['kind']]: (opening: Extract<PartOpening, { kind: K }>) => Json | undefined
}

const TEXT_BLOCK = Object.freeze({ type: 'text', text: '' })

/** How a part's block begins; `undefined` where the format has none for it. */
const BLOCKS: BlockStarts = Object.freeze({
  text: () => TEXT_BLOCK,
  refusal: () => TEXT_BLOCK,
  reasoning: () => ({ type: 'thinking', thinking: '', signature: '' }),
  'tool-call': ({ id, name }) => ({ type: 'tool_use', id, name, input: {} }),
  whole: ({ value }) => (value.type === 'opaque' && value.format === FORMAT ? (value.value as Json) : undefined),
  audio: () => undefined,
})

function startBlock(state: State, open: OpenPart): Frame[] {
  if (open.hasBlock) return []
  const describe = BLOCKS[open.start.kind] as (opening: PartOpening) => Json | undefined
  const block = describe(open.start)
  if (!block) return []
  open.hasBlock = true
  return openBlock(state, open, block)
}

function openBlock(state: State, { start }: OpenPart, block: Json): Frame[] {
  const index = state.blocks
  state.blocks += 1
  if (start.kind === 'tool-call') state.hasToolCalls = true
  const content_block = { ...block, ...start.extensions?.[FORMAT] }
  const frames = [frame('content_block_start', { index, content_block })]
  if (start.kind !== 'tool-call' || start.toolKind !== 'custom') return frames
  return [...frames, ...blockDelta(state, { type: 'input_json_delta', partial_json: CUSTOM_INPUT.start })]
}

/** The format's tools take objects: free text becomes the one member of one. */
const CUSTOM_INPUT = Object.freeze({ start: '{"input":"', end: '"}' })

function deltaOf(start: EventOf<'part-start'>, text: string): Json | undefined {
  switch (start.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text_delta', text }
    case 'reasoning':
      return { type: 'thinking_delta', thinking: text }
    case 'tool-call': {
      const partial_json = start.toolKind === 'custom' ? JSON.stringify(text).slice(1, -1) : text
      return { type: 'input_json_delta', partial_json }
    }
    case 'audio':
    case 'whole':
      return undefined
  }
}

function blockDelta(state: State, delta: Json | undefined): Frame[] {
  return delta ? [frame('content_block_delta', { index: state.blocks - 1, delta })] : []
}

function endPart(state: State, open: OpenPart, end: EventOf<'part-end'>): Frame[] {
  const { kind } = open.start
  // A thought that nobody may read has a block of its own, which is whole at its start.
  const isRedacted = kind === 'reasoning' && !open.hasBlock && end.encrypted !== undefined
  const frames = isRedacted
    ? openBlock(state, open, { type: 'redacted_thinking', data: end.encrypted })
    : startBlock(state, open)
  if (!isRedacted && !open.hasBlock) return frames
  const deltas = isRedacted ? [] : lastDeltas(open.start, end)
  const stop = frame('content_block_stop', { index: state.blocks - 1 })
  return [...frames, ...deltas.flatMap(delta => blockDelta(state, delta)), stop]
}

/** What is known of a part only when it ends. */
function lastDeltas(start: EventOf<'part-start'>, end: EventOf<'part-end'>): Json[] {
  if (start.kind === 'text') return citationsOf(end).map(citation => ({ type: 'citations_delta', citation }))
  const { signature } = end
  if (start.kind === 'reasoning' && signature !== undefined) return [{ type: 'signature_delta', signature }]
  const isCustom = start.kind === 'tool-call' && start.toolKind === 'custom'
  return isCustom ? [{ type: 'input_json_delta', partial_json: CUSTOM_INPUT.end }] : []
}

function citationsOf({ citations, extensions }: EventOf<'part-end'>): readonly unknown[] {
  const own = extensions?.[FORMAT]?.citations
  return Array.isArray(own) ? own : (citations ?? []).map((citation: UrlCitation) => encodeCitation(citation))
}

import type { Part, ReasoningPart } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Usage } from '#core/usage.ts'
import type { AnswerContext, StreamEncoder } from '../format.ts'
import { joinObjects } from '../json/join.ts'
import { encodeFault } from '../openai-fault.ts'
import type { Frame } from '../sse/frame.ts'
import { encodeCitation, encodeLogprobs, encodeToolCall } from './encode-response.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeImage } from './images.ts'
import { encodeReasoningDetails } from './reasoning-details.ts'
import { encodeUsage } from './usage.ts'

type Json = Record<string, unknown>
type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

interface State {
  readonly context: AnswerContext
  /** What every chunk says, as JSON. */
  head: string
  usage: Usage | undefined
  readonly choices: Map<number, ChoiceState>
}

interface ChoiceState {
  /** Tool calls begun so far; the newest one has the index below it. */
  toolCalls: number
  /** How a fragment of the part under way is put into a delta. */
  delta: (text: string) => Json
  /**
   * Thoughts so far, the newest one last. They are said again with their seals once all are there: of a field that the
   * format does not know, OpenAI's client for Node keeps what came last and forgets the rest.
   */
  readonly thoughts: Thought[]
}

type Thought = { -readonly [K in keyof ReasoningPart]: ReasoningPart[K] }

/** neutral events → client stream (see `WireFormat`). */
export function encodeStream(context: AnswerContext): StreamEncoder {
  const state: State = { context, head: encodeHead('', 0, context), usage: undefined, choices: new Map() }
  return { push: event => (EVENTS[event.type] as (state: State, event: CallEvent) => Frame[])(state, event) }
}

const EVENTS: { readonly [T in CallEvent['type']]: (state: State, event: EventOf<T>) => Frame[] } = Object.freeze({
  'response-start': (state, event) => {
    state.head = encodeHead(event.id, event.createdAt, state.context)
    return []
  },
  'part-start': startPart,
  'part-delta': (state, event) => {
    const choice = choiceOf(state, event.choice)
    const thought = thoughtOf(choice)
    if (thought) thought.text += event.text
    const logprobs = event.logprobs && { content: encodeLogprobs(event.logprobs), refusal: null }
    return [chunk(state, event.choice, choice.delta(event.text), { logprobs: logprobs ?? null })]
  },
  'part-end': (state, event) => {
    const thought = thoughtOf(choiceOf(state, event.choice))
    if (thought) Object.assign(thought, sealsOf(event))
    if (!event.citations) return []
    return [chunk(state, event.choice, { annotations: event.citations.map(encodeCitation) })]
  },
  'choice-end': (state, event) => [
    ...introduce(state, event.choice),
    ...detailsFrame(state, event.choice),
    chunk(state, event.choice, {}, { finish_reason: encodeFinish(event.finish) }),
  ],
  usage: (state, event) => {
    state.usage = event.usage
    return []
  },
  'response-end': state => [...usageFrame(state), { event: undefined, data: '[DONE]' }],
  error: (_state, event) => [{ event: undefined, data: JSON.stringify(encodeFault(event.fault).body) }],
})

function startPart(state: State, event: EventOf<'part-start'>): Frame[] {
  const frames = introduce(state, event.choice)
  const choice = choiceOf(state, event.choice)
  if (event.kind === 'whole') return [...frames, ...wholePart(state, event.choice, event.value)]
  if (event.kind !== 'tool-call') {
    choice.delta = DELTAS[event.kind]
    if (event.kind === 'reasoning') choice.thoughts.push({ type: 'reasoning', text: '' })
    return frames
  }
  const index = choice.toolCalls
  choice.toolCalls += 1
  const { id, name, signature, toolKind: kind } = event
  const isCustom = kind === 'custom'
  const opening = { index, ...encodeToolCall({ type: 'tool-call', kind, id, name, arguments: '', signature }) }
  choice.delta = text => ({
    tool_calls: [isCustom ? { index, custom: { input: text } } : { index, function: { arguments: text } }],
  })
  return [...frames, chunk(state, event.choice, { tool_calls: [opening] })]
}

/** Beside images, what comes whole has no field in a delta. */
function wholePart(state: State, choice: number, part: Part): Frame[] {
  const images = part.type === 'image' ? encodeImage(part) : []
  return images.length === 0 ? [] : [chunk(state, choice, { images })]
}

const DELTAS = Object.freeze({
  text: (text: string) => ({ content: text }),
  reasoning: (text: string) => ({ reasoning_content: text }),
  refusal: (text: string) => ({ refusal: text }),
  audio: (text: string) => ({ audio: { data: text } }),
})

function choiceOf(state: State, index: number): ChoiceState {
  const known = state.choices.get(index)
  if (known) return known
  const fresh: ChoiceState = { toolCalls: 0, delta: DELTAS.text, thoughts: [] }
  state.choices.set(index, fresh)
  return fresh
}

/** The thought under way. */
function thoughtOf({ delta, thoughts }: ChoiceState): Thought | undefined {
  return delta === DELTAS.reasoning ? thoughts.at(-1) : undefined
}

function sealsOf({ signature, encrypted, extensions }: EventOf<'part-end'>): Partial<ReasoningPart> {
  return {
    ...(signature !== undefined && { signature }),
    ...(encrypted !== undefined && { encrypted }),
    ...(extensions && { extensions }),
  }
}

function detailsFrame(state: State, index: number): Frame[] {
  const details = encodeReasoningDetails(choiceOf(state, index).thoughts)
  return details ? [chunk(state, index, { reasoning_details: details })] : []
}

/** The role stands in a choice's first delta and in no other. */
function introduce(state: State, index: number): Frame[] {
  if (state.choices.has(index)) return []
  choiceOf(state, index)
  return [chunk(state, index, { role: 'assistant', content: '' })]
}

function chunk(state: State, index: number, delta: Json, extra: Json = {}): Frame {
  return frame(state, {
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...extra }],
    ...(state.context.wantsStreamUsage && { usage: null }),
  })
}

function usageFrame(state: State): Frame[] {
  if (!state.context.wantsStreamUsage || !state.usage) return []
  return [frame(state, { choices: [], usage: encodeUsage(state.usage) })]
}

function frame({ head }: State, fields: Json): Frame {
  return { event: undefined, data: joinObjects(head, JSON.stringify(fields)) }
}

function encodeHead(id: string, createdAt: number, { publicModel }: AnswerContext): string {
  return JSON.stringify({ id, object: 'chat.completion.chunk', created: createdAt, model: publicModel })
}

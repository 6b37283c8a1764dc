import type { TextPart, ToolCallPart } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { errorBody } from '#core/fault.ts'
import type { Finish, TokenLogprob } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import type { AnswerContext, StreamEncoder } from '../format.ts'
import type { Frame } from '../sse/frame.ts'
import type { Json } from './decode-item.ts'
import { encodeCitation, encodeLogprobs, encodeReasoning, encodeToolCall, itemId } from './encode-item.ts'
import { encodeWhole, finishItem, itemStatus, messageItem, outputText, responseHead } from './encode-response.ts'
import { encodeFaultEvent } from './fault.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeUsage } from './usage.ts'

type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

/**
 * The format's last event repeats the whole answer, so the answer is gathered here: its items are the one thing in a
 * codec whose size grows with the stream.
 */
interface State {
  readonly context: AnswerContext
  sequenceNumber: number
  id: string
  createdAt: number
  finish: Finish
  usage: Usage | undefined
  readonly output: Json[]
  /** A message that may get further parts. Every other item ends with its part. */
  message: { content: Json[] } | undefined
  part: OpenPart | undefined
}

interface OpenPart {
  readonly start: EventOf<'part-start'>
  readonly id: string
  /** What every event of the part says: which item and which part of it. */
  readonly place: Json
  readonly texts: string[]
  readonly logprobs: TokenLogprob[]
}

/** neutral events → client stream (see `WireFormat`). */
export function encodeStream(context: AnswerContext): StreamEncoder {
  const state: State = {
    context,
    sequenceNumber: 0,
    id: '',
    createdAt: 0,
    finish: { reason: 'other', raw: undefined },
    usage: undefined,
    output: [],
    message: undefined,
    part: undefined,
  }
  return {
    push: event => {
      // A request of this format asks for one answer and no more.
      if ('choice' in event && event.choice !== 0) return []
      return (EVENTS[event.type] as (state: State, event: CallEvent) => Frame[])(state, event)
    },
  }
}

const EVENTS: { readonly [T in CallEvent['type']]: (state: State, event: EventOf<T>) => Frame[] } = Object.freeze({
  'response-start': (state, { id, createdAt }) => {
    state.id = state.context.stated?.id ?? id
    state.createdAt = createdAt
    const response = wholeResponse(state, { status: 'in_progress', error: null, incomplete_details: null })
    return [frame(state, 'response.created', { response }), frame(state, 'response.in_progress', { response })]
  },
  'part-start': startPart,
  'part-delta': (state, event) => {
    const { part } = state
    if (!part) return []
    part.texts.push(event.text)
    part.logprobs.push(...(event.logprobs ?? []))
    const isFirst = part.texts.length === 1
    const opening = part.start.kind === 'reasoning' && isFirst ? openSummary(state, part) : []
    const logprobs = part.start.kind === 'text' ? { logprobs: encodeLogprobs(event.logprobs ?? []) } : {}
    const fields = { ...part.place, delta: event.text, ...logprobs }
    return [...opening, frame(state, `${textEvents(part)}.delta`, fields)]
  },
  'part-end': (state, event) => {
    const { part } = state
    state.part = undefined
    return part ? (ENDS[part.start.kind] as PartEnd)(state, part, event) : []
  },
  'choice-end': (state, event) => {
    state.finish = event.finish
    return closeMessage(state, itemStatus(encodeFinish(event.finish)))
  },
  usage: (state, event) => {
    state.usage = event.usage
    return []
  },
  'response-end': state => {
    const ending = encodeFinish(state.finish)
    return [frame(state, `response.${ending.status}`, { response: wholeResponse(state, ending) })]
  },
  error: (state, { fault }) => {
    const error = encodeFaultEvent(fault, state.sequenceNumber)
    state.sequenceNumber += 1
    if (state.sequenceNumber === 1) return [error]
    // Some clients wait for the response to fail, some for the error.
    const { type, code = type, message } = errorBody(fault).error
    const ending = { status: 'failed', error: { code, message }, incomplete_details: null }
    return [error, frame(state, 'response.failed', { response: wholeResponse(state, ending) })]
  },
})

function frame(state: State, type: string, fields: Json): Frame {
  const event = { type, sequence_number: state.sequenceNumber, ...fields }
  state.sequenceNumber += 1
  return { event: type, data: JSON.stringify(event) }
}

function wholeResponse({ id, createdAt, context, output, usage }: State, ending: Json): Json {
  const head = responseHead({ id, createdAt }, context)
  return { ...head, ...ending, output, usage: usage ? encodeUsage(usage) : null, ...context.stated }
}

function startPart(state: State, start: EventOf<'part-start'>): Frame[] {
  if (start.kind === 'text' || start.kind === 'refusal') return startContent(state, start)
  const closing = closeMessage(state, 'completed')
  const item = openingItem(start)
  if (!item) return closing
  const outputIndex = state.output.length
  const id = itemId(state.id, String(item.type), outputIndex)
  state.part = { start, id, place: { item_id: id, output_index: outputIndex }, texts: [], logprobs: [] }
  return [...closing, itemFrame(state, 'added', finishItem(item, id, 'in_progress'), outputIndex)]
}

/** `undefined` for sound, and for what else the format has no item for. */
function openingItem(start: OpenPart['start']): Json | undefined {
  switch (start.kind) {
    case 'tool-call':
      return encodeToolCall(toolCall(start, ''))
    case 'reasoning':
      return encodeReasoning({ text: '' })
    case 'whole': {
      const item = encodeWhole(start.value)
      // Drawn images are large and come at the end.
      return item && start.value.type === 'image' ? { ...item, result: null } : item
    }
    default:
      return undefined
  }
}

function toolCall(
  { id, name, toolKind }: EventOf<'part-start'> & { kind: 'tool-call' },
  written: string,
): ToolCallPart {
  return { type: 'tool-call', kind: toolKind, id, name, arguments: written }
}

function itemFrame(state: State, what: 'added' | 'done', item: Json, outputIndex: number): Frame {
  return frame(state, `response.output_item.${what}`, { output_index: outputIndex, item })
}

/** Texts and refusals that follow each other are parts of one message. */
function startContent(state: State, start: EventOf<'part-start'>): Frame[] {
  const outputIndex = state.output.length
  const id = itemId(state.id, 'message', outputIndex)
  const frames: Frame[] = []
  if (!state.message) {
    state.message = { content: [] }
    frames.push(itemFrame(state, 'added', finishItem(messageItem({}, []), id, 'in_progress'), outputIndex))
  }
  const place = { item_id: id, output_index: outputIndex, content_index: state.message.content.length }
  const part: OpenPart = { start, id, place, texts: [], logprobs: [] }
  state.part = part
  return [...frames, frame(state, 'response.content_part.added', { ...place, part: contentPart(part, undefined) })]
}

function closeMessage(state: State, status: string): Frame[] {
  if (!state.message) return []
  const outputIndex = state.output.length
  const item = finishItem(messageItem({}, state.message.content), itemId(state.id, 'message', outputIndex), status)
  state.message = undefined
  state.output.push(item)
  return [itemFrame(state, 'done', item, outputIndex)]
}

function contentPart({ start, texts, logprobs }: OpenPart, citations: TextPart['citations']): Json {
  const text = texts.join('')
  if (start.kind === 'refusal') return { type: 'refusal', refusal: text }
  return outputText({ type: 'text', text, citations }, logprobs)
}

/** What the events of a part's text are called. */
function textEvents({ start }: OpenPart): string {
  if (start.kind !== 'tool-call') return TEXT_EVENTS[start.kind]
  return start.toolKind === 'custom' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
}

const TEXT_EVENTS = Object.freeze({
  text: 'response.output_text',
  refusal: 'response.refusal',
  reasoning: 'response.reasoning_summary_text',
  // Neither has deltas: what only one format knows comes whole, and sound has no place here.
  whole: '',
  audio: '',
})

/** A thought that is sealed and has no words has no summary. */
function openSummary(state: State, part: OpenPart): Frame[] {
  Object.assign(part.place, { summary_index: 0 })
  const summary = { type: 'summary_text', text: '' }
  return [frame(state, 'response.reasoning_summary_part.added', { ...part.place, part: summary })]
}

type PartEnd = (state: State, part: OpenPart, end: EventOf<'part-end'>) => Frame[]

const ENDS: Readonly<Record<EventOf<'part-start'>['kind'], PartEnd>> = Object.freeze({
  text: endContent,
  refusal: endContent,
  reasoning: (state, part, end) => {
    const text = part.texts.join('')
    const closing =
      text === ''
        ? []
        : [
            frame(state, 'response.reasoning_summary_text.done', { ...part.place, text }),
            frame(state, 'response.reasoning_summary_part.done', {
              ...part.place,
              part: { type: 'summary_text', text },
            }),
          ]
    return [...closing, endItem(state, part, encodeReasoning({ text, encrypted: end.encrypted }))]
  },
  'tool-call': (state, part) => {
    if (part.start.kind !== 'tool-call') return []
    const written = part.texts.join('')
    const isCustom = part.start.toolKind === 'custom'
    const fields = isCustom ? { input: written } : { name: part.start.name, arguments: written }
    const done = frame(state, `${textEvents(part)}.done`, { ...part.place, ...fields })
    return [done, endItem(state, part, encodeToolCall(toolCall(part.start, written)))]
  },
  whole: (state, part) => {
    const item = part.start.kind === 'whole' ? encodeWhole(part.start.value) : undefined
    return item ? [endItem(state, part, item)] : []
  },
  audio: () => [],
})

function endContent(state: State, part: OpenPart, { citations = [] }: EventOf<'part-end'>): Frame[] {
  const content = contentPart(part, citations)
  const frames = citations.map((citation, index) =>
    frame(state, 'response.output_text.annotation.added', {
      ...part.place,
      annotation_index: index,
      annotation: encodeCitation(citation),
    }),
  )
  const { type: _type, annotations: _annotations, ...said } = content
  frames.push(frame(state, `${textEvents(part)}.done`, { ...part.place, ...said }))
  frames.push(frame(state, 'response.content_part.done', { ...part.place, part: content }))
  state.message?.content.push(content)
  return frames
}

function endItem(state: State, part: OpenPart, item: Json): Frame {
  const outputIndex = state.output.length
  const finished = finishItem(item, part.id, 'completed')
  state.output.push(finished)
  return itemFrame(state, 'done', finished, outputIndex)
}

import type { Part, UrlCitation } from '#core/call.ts'
import type { CallEvent, PartOpening } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { Finish, TokenLogprob } from '#core/result.ts'
import type { StreamDecoder } from '../format.ts'
import { isObject } from '../json/parse.ts'
import type { Frame } from '../sse/frame.ts'
import { callIdOf, decodeCitations, decodePart, type Json } from './decode-parts.ts'
import { blockReason, decodeHead, decodeLogprobs, wireParts } from './decode-response.ts'
import { decodeFault } from './fault.ts'
import { decodeBlock, decodeFinish, isFinishReason } from './finish-reason.ts'
import { decodeChunkUsage } from './usage.ts'

interface State {
  started: boolean
  /** A terminal event has been emitted. */
  ended: boolean
  id: string
  readonly choices: Map<number, ChoiceState>
}

interface ChoiceState {
  readonly index: number
  nextPart: number
  toolCalls: number
  /** The text under way; every other part comes whole. */
  open: { readonly part: number; readonly type: 'text' | 'reasoning' } | undefined
  citations: UrlCitation[]
  /** Held back to the end: some hosts repeat it in every chunk, so that it ends nothing. */
  finish: Finish | undefined
}

/** upstream stream → neutral events (see `WireFormat`). Every event is a partial answer; the stream just closes. */
export function decodeStream(): StreamDecoder {
  const state: State = { started: false, ended: false, id: '', choices: new Map() }
  return {
    push: frame => (state.ended ? [] : decodeFrame(state, frame)),
    end: () => (state.ended ? [] : endStream(state)),
  }
}

function decodeFrame(state: State, { data }: Frame): CallEvent[] {
  if (data === undefined || data === '') return []
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

/** A stream that stops before every choice has said why was cut: what the client has is not the answer. */
function endStream(state: State): CallEvent[] {
  const choices = [...state.choices.values()]
  if (choices.length === 0 || choices.some(choice => choice.finish === undefined)) {
    return fail(state, new Fault('upstream_error', 'The model provider ended the stream before the answer was whole.'))
  }
  state.ended = true
  return [...choices.flatMap(endChoice), { type: 'response-end' }]
}

function decodeChunk(state: State, chunk: Json): CallEvent[] {
  const events: CallEvent[] = []
  if (!state.started) {
    state.started = true
    const head = decodeHead(chunk)
    state.id = head.id
    events.push({ type: 'response-start', ...head })
  }
  const candidates = Array.isArray(chunk.candidates) ? chunk.candidates.filter(isObject) : []
  const reason = blockReason(chunk)
  if (reason !== undefined && candidates.length === 0) choiceState(state, 0).finish = decodeBlock(reason)
  for (const [position, candidate] of candidates.entries()) {
    const result = decodeCandidate(state, candidate, position)
    if (result instanceof Fault) return [...events, ...fail(state, result)]
    events.push(...result)
  }
  const isEnd = reason !== undefined || candidates.some(({ finishReason }) => isFinishReason(finishReason))
  const usage = decodeChunkUsage(chunk.usageMetadata, { isEnd })
  if (usage) events.push({ type: 'usage', usage })
  return events
}

function choiceState(state: State, index: number): ChoiceState {
  const known = state.choices.get(index)
  if (known) return known
  const fresh: ChoiceState = { index, nextPart: 0, toolCalls: 0, open: undefined, citations: [], finish: undefined }
  state.choices.set(index, fresh)
  return fresh
}

function decodeCandidate(state: State, candidate: Json, position: number): CallEvent[] | Fault {
  const choice = choiceState(state, typeof candidate.index === 'number' ? candidate.index : position)
  const wire = wireParts(candidate)
  if (wire.some(isPiecemeal)) {
    return new Fault('upstream_error', 'The model provider sent the arguments of a function in pieces.')
  }
  keepCitations(choice, decodeCitations(candidate))
  const callId = () => callIdOf(state.id, choice.index, choice.toolCalls)
  let logprobs = decodeLogprobs(candidate.logprobsResult)
  const events: CallEvent[] = []
  for (const part of wire) {
    for (const each of decodePart(part, callId)) {
      events.push(...decodeOne(choice, each, logprobs))
      if (each.type === 'tool-call') choice.toolCalls += 1
      // Log probabilities belong to the chunk's first text.
      if (each.type === 'text' && each.text !== '') logprobs = undefined
    }
  }
  if (isFinishReason(candidate.finishReason)) {
    choice.finish = decodeFinish(candidate.finishReason, { hasToolCalls: choice.toolCalls > 0 })
  }
  return events
}

/** Arguments come whole unless the request asked for pieces, which a translated one does not. */
function isPiecemeal({ functionCall: call }: Json): boolean {
  return isObject(call) && (call.willContinue === true || Array.isArray(call.partialArgs))
}

function decodeOne(choice: ChoiceState, part: Part, logprobs: readonly TokenLogprob[] | undefined): CallEvent[] {
  switch (part.type) {
    case 'text':
      return textDelta(choice, part, logprobs)
    case 'reasoning':
      return textDelta(choice, part)
    case 'tool-call': {
      const { id, name, kind: toolKind, arguments: text, signature } = part
      const seal = signature === undefined ? {} : { signature }
      return wholePart(choice, { kind: 'tool-call', id, name, toolKind, ...seal }, text)
    }
    case 'audio': {
      if (part.source.kind !== 'base64') return wholePart(choice, { kind: 'whole', value: part })
      const { mediaType, data } = part.source
      return wholePart(choice, { kind: 'audio', mediaType, format: part.format }, data)
    }
    case 'image':
    case 'video':
    case 'document':
    case 'opaque':
      return wholePart(choice, { kind: 'whole', value: part })
    default:
      return []
  }
}

/** A signature ends the text that it seals; often it comes alone, after the last piece. */
function textDelta(
  choice: ChoiceState,
  { type, text, signature }: Extract<Part, { type: 'text' | 'reasoning' }>,
  logprobs?: readonly TokenLogprob[],
): CallEvent[] {
  if (text === '' && signature === undefined) return []
  const events = choice.open?.type === type ? [] : openText(choice, type)
  if (text !== '') {
    const part = choice.open?.part ?? 0
    events.push({ type: 'part-delta', choice: choice.index, part, text, ...(logprobs && { logprobs }) })
  }
  return signature === undefined ? events : [...events, ...closeText(choice, signature)]
}

function openText(choice: ChoiceState, type: 'text' | 'reasoning'): CallEvent[] {
  const closing = closeText(choice)
  const part = choice.nextPart
  choice.nextPart += 1
  choice.open = { part, type }
  return [...closing, { type: 'part-start', choice: choice.index, part, kind: type }]
}

function closeText(choice: ChoiceState, signature?: string): CallEvent[] {
  if (!choice.open) return []
  const { part, type } = choice.open
  choice.open = undefined
  const citations = type === 'text' ? choice.citations.splice(0) : []
  return [
    {
      type: 'part-end',
      choice: choice.index,
      part,
      ...(citations.length > 0 && { citations }),
      ...(signature !== undefined && { signature }),
    },
  ]
}

function wholePart(choice: ChoiceState, opening: PartOpening, text = ''): CallEvent[] {
  const closing = closeText(choice)
  const at = { choice: choice.index, part: choice.nextPart }
  choice.nextPart += 1
  return [
    ...closing,
    { type: 'part-start', ...at, ...opening },
    ...(text === '' ? [] : [{ type: 'part-delta', ...at, text } as const]),
    { type: 'part-end', ...at },
  ]
}

/** Later chunks may repeat what earlier ones said about sources. */
function keepCitations(choice: ChoiceState, citations: readonly UrlCitation[]): void {
  const isKnown = (citation: UrlCitation) =>
    choice.citations.some(each => JSON.stringify(each) === JSON.stringify(citation))
  choice.citations.push(...citations.filter(citation => !isKnown(citation)))
}

function endChoice(choice: ChoiceState): CallEvent[] {
  const finish = choice.finish ?? decodeFinish(undefined, { hasToolCalls: false })
  const opening = choice.citations.length > 0 && choice.open?.type !== 'text' ? openText(choice, 'text') : []
  return [...opening, ...closeText(choice), { type: 'choice-end', choice: choice.index, finish }]
}

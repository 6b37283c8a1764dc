import assert from 'node:assert/strict'
import type { Extensions, Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Choice, Finish, TokenLogprob } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'

type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>

/** What a stream of events says, as one answer. */
export interface Collected {
  readonly id: string
  readonly model: string
  readonly createdAt: number
  /** By index. */
  readonly choices: readonly Choice[]
  readonly usage: Usage | undefined
  /** Only of a stream that ended with some. */
  readonly extensions?: Extensions
}

interface ChoiceState {
  readonly parts: Part[]
  readonly logprobs: TokenLogprob[]
  open: { readonly start: EventOf<'part-start'>; text: string } | undefined
  finish: Finish | undefined
}

/** Reads a whole answer, and checks that its events keep to the grammar of `core/call-event.ts`. */
export function collectEvents(events: readonly CallEvent[]): Collected {
  const [start, ...rest] = events
  assert.ok(start?.type === 'response-start', 'a response begins with response-start')
  const end = rest.at(-1)
  assert.ok(end?.type === 'response-end', 'it ends with response-end')
  const choices = new Map<number, ChoiceState>()
  let usage: Usage | undefined
  for (const event of rest.slice(0, -1)) {
    if (event.type === 'usage') usage = event.usage
    else {
      assert.ok('choice' in event, `${event.type} stands inside a response`)
      const fresh: ChoiceState = { parts: [], logprobs: [], open: undefined, finish: undefined }
      const choice = choices.get(event.choice) ?? fresh
      choices.set(event.choice, choice)
      collectChoice(choice, event)
    }
  }
  const { id, model, createdAt } = start
  const collected = [...choices].toSorted(([a], [b]) => a - b).map(([index, choice]) => toChoice(index, choice))
  return { id, model, createdAt, choices: collected, usage, ...(end.extensions && { extensions: end.extensions }) }
}

function toChoice(index: number, { parts, logprobs, finish }: ChoiceState): Choice {
  assert.ok(finish, 'every choice that began has ended')
  return { index, parts, finish, ...(logprobs.length > 0 && { logprobs }) }
}

function collectChoice(
  choice: ChoiceState,
  event: EventOf<'part-start' | 'part-delta' | 'part-end' | 'choice-end'>,
): void {
  assert.equal(choice.finish, undefined, 'a choice says nothing after its end')
  if (event.type === 'choice-end') {
    assert.equal(choice.open, undefined, 'a choice ends after its last part')
    choice.finish = event.finish
    return
  }
  if (event.type === 'part-start') {
    assert.equal(choice.open, undefined, 'parts of a choice do not overlap')
    assert.equal(event.part, choice.parts.length, 'parts are numbered from 0')
    choice.open = { start: event, text: '' }
    return
  }
  assert.ok(choice.open && choice.open.start.part === event.part, `${event.type} is about the part under way`)
  if (event.type === 'part-delta') {
    choice.open.text += event.text
    choice.logprobs.push(...(event.logprobs ?? []))
    return
  }
  choice.parts.push(toPart(choice.open.start, choice.open.text, event))
  choice.open = undefined
}

function toPart(start: EventOf<'part-start'>, text: string, end: EventOf<'part-end'>): Part {
  const { citations, signature, encrypted } = end
  const ofFormat = { ...start.extensions, ...end.extensions }
  const extended = Object.keys(ofFormat).length > 0 && { extensions: ofFormat }
  switch (start.kind) {
    case 'tool-call': {
      const { toolKind: kind, id, name, signature } = start
      return { type: 'tool-call', kind, id, name, arguments: text, ...(signature && { signature }), ...extended }
    }
    case 'audio':
      return {
        type: 'audio',
        source: { kind: 'base64', mediaType: start.mediaType, data: text },
        ...(start.format !== undefined && { format: start.format }),
      }
    case 'text':
      return { type: 'text', text, ...(citations && { citations }), ...(signature && { signature }), ...extended }
    case 'whole':
      assert.equal(text, '', 'a whole part has no deltas')
      return start.value
    case 'reasoning':
      return {
        type: 'reasoning',
        text,
        ...(signature && { signature }),
        ...(encrypted && { encrypted }),
        ...extended,
      }
    default:
      return { type: start.kind, text }
  }
}

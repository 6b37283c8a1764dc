import type { CallEvent } from '#core/call-event.ts'
import type { EventAdapter, Sides } from '../adaptation.ts'
import { carriedBy, wrap, wrapThought } from './seal-parts.ts'
import { SEAL_PLACES } from './seal-places.ts'

type EventOf<T extends CallEvent['type']> = Extract<CallEvent, { type: T }>
type PartEvent = EventOf<'part-start' | 'part-delta' | 'part-end'>

/** What `sealParts` does to whole answers, to a stream. */
export function sealEvents(sides: Sides): EventAdapter {
  const choices = new Map<number, ChoiceSealer>()
  return event => {
    if (event.type !== 'part-start' && event.type !== 'part-delta' && event.type !== 'part-end') return [event]
    const choice = choices.get(event.choice) ?? new ChoiceSealer(sides)
    choices.set(event.choice, choice)
    return choice.push(event)
  }
}

class ChoiceSealer {
  readonly #sides: Sides
  /** The number of the next part, where thoughts that carry a seal count. */
  #nextPart = 0
  /** Parts so far that are no thoughts. */
  #others = 0
  #kind: EventOf<'part-start'>['kind'] = 'text'
  /** The start of a text of which nothing has come yet: it may be there for its seal alone. */
  #held: EventOf<'part-start'> | undefined

  constructor(sides: Sides) {
    this.#sides = sides
  }

  push(event: PartEvent): CallEvent[] {
    if (event.type === 'part-start') return this.#start(event)
    if (event.type === 'part-end') return this.#end(event)
    return this.#held ? [...this.#release(), this.#numbered(event)] : [this.#numbered(event)]
  }

  #start(event: EventOf<'part-start'>): CallEvent[] {
    this.#kind = event.kind
    const places = SEAL_PLACES[this.#sides.client]
    if (event.kind === 'text' && !places.onTexts) {
      this.#held = event
      return []
    }
    if (event.kind !== 'tool-call' || event.signature === undefined) return this.#open(event)
    const { signature, ...call } = event
    const wrapped = wrap('tool-call', signature, { sides: this.#sides, others: this.#others })
    if (places.onCalls) return this.#open({ ...call, signature: wrapped })
    return [...this.#carry(event.choice, wrapped), ...this.#open(call)]
  }

  #open(start: EventOf<'part-start'>): CallEvent[] {
    this.#nextPart += 1
    if (start.kind !== 'reasoning') this.#others += 1
    return [this.#numbered(start)]
  }

  #numbered<E extends PartEvent>(event: E): E {
    const part = this.#nextPart - 1
    return event.part === part ? event : { ...event, part }
  }

  #release(): CallEvent[] {
    const held = this.#held
    this.#held = undefined
    return held ? this.#open(held) : []
  }

  /** A thought that is nothing but another part's seal. */
  #carry(choice: number, wrapped: string): CallEvent[] {
    const at = { choice, part: this.#nextPart }
    this.#nextPart += 1
    return [
      { type: 'part-start', ...at, kind: 'reasoning' },
      { type: 'part-end', ...at, ...carriedBy(wrapped, this.#sides) },
    ]
  }

  #end(event: EventOf<'part-end'>): CallEvent[] {
    const { signature, encrypted: _, ...end } = event
    if (this.#kind === 'reasoning') {
      return [{ ...this.#numbered(end), ...wrapThought(event, this.#sides, this.#others) }]
    }
    if (this.#kind !== 'text' || signature === undefined) return [...this.#release(), this.#numbered(end)]
    const isOnTexts = SEAL_PLACES[this.#sides.client].onTexts
    const wrapped = () => wrap('text', signature, { sides: this.#sides, others: this.#others })
    if (isOnTexts) return [{ ...this.#numbered(end), signature: wrapped() }]
    const isSealAlone = this.#held !== undefined
    this.#held = undefined
    return [...(isSealAlone ? [] : [this.#numbered(end)]), ...this.#carry(event.choice, wrapped())]
  }
}

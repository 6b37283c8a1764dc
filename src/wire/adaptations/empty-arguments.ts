import type { Part } from '#core/call.ts'
import type { Adapt, EventAdapter } from '../adaptation.ts'
import { mapParts } from './map-parts.ts'

/**
 * A function without arguments is called with an empty object: some hosts write nothing at all, and clients and hosts
 * that parse the arguments fail on that.
 */
export const adaptEmptyArguments: Adapt = call => ({
  call: mapParts(call, filled),
  adaptResult: result => ({
    ...result,
    choices: result.choices.map(choice => ({ ...choice, parts: choice.parts.map(filled) })),
  }),
  adaptEvents: () => fillEvents(),
})

function filled(part: Part): Part {
  const isEmpty = part.type === 'tool-call' && part.kind === 'function' && part.arguments.trim() === ''
  return isEmpty ? { ...part, arguments: `${part.arguments}{}` } : part
}

function fillEvents(): EventAdapter {
  /** Choices with a call under way of whose arguments nothing has come. */
  const empty = new Set<number>()
  return event => {
    if (event.type === 'part-start' && event.kind === 'tool-call' && event.toolKind === 'function') {
      empty.add(event.choice)
    } else if (event.type === 'part-delta' && event.text.trim() !== '') empty.delete(event.choice)
    else if (event.type === 'part-end' && empty.delete(event.choice)) {
      const { choice, part } = event
      return [{ type: 'part-delta', choice, part, text: '{}' }, event]
    }
    return [event]
  }
}

import type { Extensions, Part, ReasoningPart, TextPart, ToolCallPart } from '#core/call.ts'
import type { Sides } from '../adaptation.ts'
import { type SealKind, type SealNotes, wrapSeal } from './seal-envelope.ts'
import { SEAL_PLACES } from './seal-places.ts'

/** A whole answer's parts with the upstream's seals in envelopes, each where the client keeps it. */
export function sealParts(parts: readonly Part[], sides: Sides): Part[] {
  let others = 0
  return parts.flatMap(part => {
    const sealed = sealPart(part, sides, others)
    others += sealed.filter(({ type }) => type !== 'reasoning').length
    return sealed
  })
}

/** @param others how many parts that are no thoughts came before */
function sealPart(part: Part, sides: Sides, others: number): Part[] {
  switch (part.type) {
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...wrapThought(part, sides, others) }]
    case 'tool-call':
      return part.signature === undefined ? [part] : sealCall(part, part.signature, sides, others)
    case 'text':
      return part.signature === undefined ? [part] : sealText(part, part.signature, sides, others)
    default:
      return [part]
  }
}

type Seals = Pick<ReasoningPart, 'signature' | 'encrypted'>

/**
 * A thought's seal in the field where the client keeps it. One that nobody has sealed gets an empty one where upstreams
 * of the client's format do not take such a thought, so that it does not reach them when the conversation does.
 */
export function wrapThought(thought: Seals & Pick<ReasoningPart, 'extensions'>, sides: Sides, others: number): Seals {
  const { signature, encrypted, extensions } = thought
  if (signature !== undefined) return carriedBy(wrap('signature', signature, { sides, others, extensions }), sides)
  if (encrypted !== undefined) return carriedBy(wrap('encrypted', encrypted, { sides, others, extensions }), sides)
  const isWelcome = SEAL_PLACES[sides.client].takesWords
  return isWelcome ? {} : carriedBy(wrap('words', '', { sides, others, extensions }), sides)
}

/** The seals of a thought that carries this one. */
export function carriedBy(wrapped: string, { client }: Sides): Seals {
  return { [SEAL_PLACES[client].thought]: wrapped }
}

interface Moment {
  readonly sides: Sides
  readonly others: number
  readonly extensions?: Extensions | undefined
}

/** A seal of this moment of an answer in its envelope. */
export function wrap(kind: SealKind, value: string, { sides, others, extensions }: Moment): string {
  const { client, upstream } = sides
  const fields = extensions?.[upstream]
  const notes: SealNotes = {
    ...(fields && { fields }),
    ...(!SEAL_PLACES[client].keepsOrder && { after: others }),
  }
  return wrapSeal({ format: upstream, kind, value, ...(Object.keys(notes).length > 0 && { notes }) })
}

function sealCall(part: ToolCallPart, seal: string, sides: Sides, others: number): Part[] {
  const { signature: _, ...call } = part
  const wrapped = wrap('tool-call', seal, { sides, others })
  if (SEAL_PLACES[sides.client].onCalls) return [{ ...call, signature: wrapped }]
  return [{ type: 'reasoning', text: '', ...carriedBy(wrapped, sides) }, call]
}

function sealText(part: TextPart, seal: string, sides: Sides, others: number): Part[] {
  const { signature: _, ...text } = part
  if (SEAL_PLACES[sides.client].onTexts) return [{ ...text, signature: wrap('text', seal, { sides, others }) }]
  // A text that is there for its seal alone is none to a client that has no place for a seal on it.
  const said = part.text === '' ? [] : [text]
  const wrapped = wrap('text', seal, { sides, others: others + said.length })
  return [...said, { type: 'reasoning', text: '', ...carriedBy(wrapped, sides) }]
}

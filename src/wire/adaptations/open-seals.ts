import type { Part, ReasoningPart, TextPart, ToolCallPart } from '#core/call.ts'
import type { Sides } from '../adaptation.ts'
import type { FormatName } from '../format.ts'
import { type Seal, unwrapSeal } from './seal-envelope.ts'
import { SEAL_PLACES } from './seal-places.ts'

/** A part of the history, and the seal that came on it. */
interface Sealed {
  readonly part: Part
  readonly seal: Seal | undefined
}

/**
 * A message's parts as the upstream may see them: its own seals where they were made, and no one else's. A thought that
 * was nothing but another's seal is gone; one that can be read stays where words alone are taken.
 */
export function openSeals(parts: readonly Part[], { client, upstream }: Sides, warn: (text: string) => void): Part[] {
  const sealed = parts.map((part): Sealed => ({ part, seal: readSeal(part, client) }))
  const opened: Part[] = []
  let sealOfNextCall: string | undefined
  for (const { part, seal } of inOrder(sealed)) {
    const isOurs = seal?.format === upstream
    if (seal && !isOurs && !isReadable(seal, upstream))
      warn(`reasoning sealed by ${seal.format || 'nobody known'} has no equivalent in ${upstream}`)
    const value = isOurs ? seal.value : undefined
    if (part.type === 'tool-call') {
      opened.push(withSignature(part, value ?? sealOfNextCall))
      sealOfNextCall = undefined
    } else if (part.type === 'text') {
      // Words that were there for the seal alone go with it.
      if (part.text !== '' || isOurs || !seal) opened.push(withSignature(part, value))
    } else if (part.type !== 'reasoning' || !seal) opened.push(part)
    else if (!isOurs) opened.push(...readable(part, upstream))
    else if (seal.kind === 'tool-call') sealOfNextCall = seal.value
    else if (seal.kind === 'text') sealText(opened, seal.value)
    else opened.push(thought(part, seal))
  }
  return opened
}

/** A bare seal was made in the client's own format. */
function readSeal(part: Part, client: string): Seal | undefined {
  const [kind, value] = sealOn(part)
  if (kind === undefined || value === undefined) return undefined
  return unwrapSeal(value) ?? { format: client, kind, value, notes: { fields: fieldsOf(part, client) } }
}

function sealOn(part: Part): readonly [Seal['kind'], string | undefined] | readonly [] {
  if (part.type === 'tool-call' || part.type === 'text') return [part.type, part.signature]
  if (part.type !== 'reasoning') return []
  return part.signature === undefined ? ['encrypted', part.encrypted] : ['signature', part.signature]
}

function fieldsOf(part: Part, client: string): Readonly<Record<string, unknown>> | undefined {
  return 'extensions' in part ? part.extensions?.[client] : undefined
}

/** Puts thoughts back among the other parts, where their client's format does not keep the order. */
function inOrder(all: readonly Sealed[]): readonly Sealed[] {
  const moved = all.filter(each => placeOf(each) !== undefined)
  if (moved.length === 0) return all
  let others = 0
  const ordered = all.flatMap(each => {
    if (placeOf(each) !== undefined) return []
    if (each.part.type === 'reasoning') return [each]
    const before = moved.filter(thought => placeOf(thought) === others)
    others += 1
    return [...before, each]
  })
  return [...ordered, ...moved.filter(thought => (placeOf(thought) ?? 0) >= others)]
}

function placeOf({ part, seal }: Sealed): number | undefined {
  return part.type === 'reasoning' ? seal?.notes?.after : undefined
}

function withSignature<P extends ToolCallPart | TextPart>(part: P, signature: string | undefined): P {
  const { signature: _, ...bare } = part
  return (signature === undefined ? bare : { ...bare, signature }) as P
}

/** Words of which nothing is lost. */
function isReadable({ kind }: Seal, upstream: FormatName): boolean {
  return kind === 'words' && SEAL_PLACES[upstream].takesWords
}

function readable({ text }: ReasoningPart, upstream: FormatName): Part[] {
  return text !== '' && SEAL_PLACES[upstream].takesWords ? [{ type: 'reasoning', text }] : []
}

/** The seal is that of the text before it, or of a text that was there for the seal alone. */
function sealText(opened: Part[], signature: string): void {
  const last = opened.at(-1)
  if (last?.type === 'text' && last.signature === undefined) opened.splice(-1, 1, { ...last, signature })
  else opened.push({ type: 'text', text: '', signature })
}

function thought({ text }: ReasoningPart, { format, kind, value, notes }: Seal): ReasoningPart {
  const fields = notes?.fields
  const sealed = kind === 'words' ? {} : { [kind]: value }
  return { type: 'reasoning', text, ...sealed, ...(fields && { extensions: { [format]: fields } }) }
}

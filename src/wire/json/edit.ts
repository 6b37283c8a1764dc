import type { Span } from './elements.ts'
import { closingBrace, findMember, scanMembers } from './members.ts'

/** Replace the bytes from `start` up to `end` by `text`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * `bytes` with all `edits` made; they must not overlap. Everything between them is kept to the byte. What is inserted
 * where another edit begins comes before it.
 */
export function applyEdits(bytes: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes
  const ordered = edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
  const replacements = ordered.map(edit => Buffer.byteLength(edit.text))
  const grown = ordered.reduce((sum, edit, i) => sum + (replacements[i] as number) - (edit.end - edit.start), 0)
  const out = Buffer.allocUnsafe(bytes.length + grown)
  let from = 0
  let to = 0
  for (const edit of ordered) {
    to += bytes.copy(out, to, from, edit.start)
    to += out.write(edit.text, to)
    from = edit.end
  }
  bytes.copy(out, to, from)
  return out
}

/**
 * The edit that gives the object's member `key` the JSON text `json`, adding the member at the end when it is absent.
 *
 * @param from offset at or before the object's opening brace
 * @param end offset after its closing brace
 */
export function setMember(bytes: Buffer, key: string, json: string, from = 0, end = bytes.length): Edit {
  const member = findMember(bytes, key, from)
  if (member) return { start: member.valueStart, end: member.valueEnd, text: json }
  return addMember(bytes, key, json, from, end)
}

/** The edit that appends a member which the object does not have yet. */
export function addMember(bytes: Buffer, key: string, json: string, from = 0, end = bytes.length): Edit {
  const brace = closingBrace(bytes, end)
  const isEmpty = bytes.subarray(bytes.indexOf('{', from) + 1, brace).every(byte => byte <= 0x20)
  return { start: brace, end: brace, text: `${isEmpty ? '' : ','}${JSON.stringify(key)}:${json}` }
}

/** The edits that take the member `key`, and one comma beside it, out of an object; none when it is not there. */
export function removeMember(bytes: Buffer, key: string, from = 0): Edit[] {
  const members = scanMembers(bytes, from)
  const spans = members.map(({ start, valueEnd }) => ({ start, end: valueEnd }))
  return removeSpans(spans, index => members[index]?.key === key)
}

/** The edits that take members of one object, or elements of one array, out of it, with their commas. */
export function removeSpans(spans: readonly Span[], isRemoved: (index: number) => boolean): Edit[] {
  const edits: Edit[] = []
  let lastKept: Span | undefined
  for (const [index, span] of spans.entries()) {
    const previous = spans[index - 1]
    const next = spans[index + 1]
    if (!isRemoved(index)) lastKept = span
    // The comma before it goes, too; where nothing stays before it, the one behind it.
    else if (lastKept && previous) edits.push({ start: previous.end, end: span.end, text: '' })
    else edits.push({ start: span.start, end: next?.start ?? span.end, text: '' })
  }
  return edits
}

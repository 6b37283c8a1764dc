import { Fault } from '#core/fault.ts'
import { applyEdits, type Edit, removeMember, setMember } from '../json/edit.ts'
import { scanElements } from '../json/elements.ts'
import { findMember, type Member, OPEN_BRACKET, QUOTE } from '../json/members.ts'
import type { Json } from './decode-item.ts'
import type { ResponsesRequest } from './schema.ts'

/** What a request leaves to be looked up: what the gateway has kept of earlier responses. */
export interface Pointers {
  readonly previousResponseId: string | undefined
  /** Ids of items. */
  readonly references: readonly string[]
}

/** Where a response would be kept, or made, that is not the gateway's affair. */
const UNSUPPORTED = ['conversation', 'background']

/** @throws Fault `unsupported_parameter` for what no upstream is asked */
export function pointersOf(body: ResponsesRequest): Pointers {
  for (const param of UNSUPPORTED) {
    const value = (body as Json)[param]
    if (value === undefined || value === null || value === false) continue
    throw new Fault('unsupported_parameter', `\`${param}\` is not supported.`, { param })
  }
  return {
    previousResponseId: body.previous_response_id ?? undefined,
    references: Array.isArray(body.input) ? referencesIn(body.input) : [],
  }
}

export function referencesIn(items: readonly Json[]): string[] {
  return items.filter(isReference).map(({ id }) => id)
}

/** An item that only names another one. Its type may be left out; nothing else has no role either. */
export function isReference(item: Json): item is { readonly id: string } {
  const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message')
  return type === 'item_reference' && typeof item.id === 'string'
}

/** The items with those in place of their names that were found. */
export function withReferred(items: readonly Json[], found: ReadonlyMap<string, Json>): Json[] {
  return items.map(item => (isReference(item) ? (found.get(item.id) ?? item) : item))
}

/** What was looked up. */
export interface Past {
  /** Input and output of all earlier turns. */
  readonly history: readonly Json[]
  /** By their ids. */
  readonly items: ReadonlyMap<string, Json>
}

/**
 * The request with all that it pointed to in its input, so that it means the same to an upstream that has kept nothing.
 * Every other byte stays.
 *
 * @throws Fault when something cannot be found
 */
export function selfContained(bytes: Buffer, body: ResponsesRequest, { history, items }: Past): Buffer {
  const earlier = history.map(item => (isReference(item) ? earlierItem(items, item.id) : item))
  const edits = removeMember(bytes, 'previous_response_id')
  return applyEdits(bytes, [...edits, ...inputEdits(bytes, body, earlier, items)])
}

function inputEdits(
  bytes: Buffer,
  { input }: ResponsesRequest,
  history: readonly Json[],
  items: Past['items'],
): Edit[] {
  const before = history.map(item => JSON.stringify(item)).join(',')
  const member = findMember(bytes, 'input')
  const first = member && bytes[member.valueStart]
  if (member && first === QUOTE) return aroundText(member, before)
  if (!member || first !== OPEN_BRACKET) return [setMember(bytes, 'input', `[${before}]`)]
  const spans = scanElements(bytes, member.valueStart)
  const separator = before === '' || spans.length === 0 ? '' : ','
  const references = spans.flatMap((span, index) => {
    const item: Json = (input as readonly Json[])[index] ?? {}
    return isReference(item) ? { ...span, text: JSON.stringify(ownItem(items, item.id, index)) } : []
  })
  return [insertion(member.valueStart + 1, before + separator), ...references]
}

/** A text is the same as one message of the user. */
function aroundText({ valueStart, valueEnd }: Member, before: string): Edit[] {
  const opening = `[${before}${before === '' ? '' : ','}{"role":"user","content":`
  return [insertion(valueStart, opening), insertion(valueEnd, '}]')]
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, text }
}

function ownItem(items: Past['items'], id: string, index: number): Json {
  const item = items.get(id)
  if (item) return item
  const param = `input[${index}].id`
  throw new Fault('invalid_request', `\`${param}\` names no item that is kept: "${id.slice(0, 100)}".`, { param })
}

function earlierItem(items: Past['items'], id: string): Json {
  const item = items.get(id)
  if (item) return item
  const message = `An earlier turn of this conversation named the item "${id.slice(0, 100)}", which is no longer there.`
  throw new Fault('previous_response_not_found', message, { param: 'previous_response_id' })
}

import type { Target } from '#core/work.ts'
import { type Edit, removeMember, removeSpans, setMember } from '../json/edit.ts'
import { scanElements } from '../json/elements.ts'
import { type Member, OPEN_BRACKET, scanMembers } from '../json/members.ts'
import { isObject } from '../json/parse.ts'
import { SEALED_REASONING, wantsSealedReasoning } from './sealed-reasoning.ts'

/**
 * The edits that make a request one for an upstream which is to keep nothing: it is told so, it is asked for what it
 * needs to be given back, and it is sent no ids of items that it does not have and would look for.
 */
export function unstoredEdits(bytes: Buffer, target: Target): Edit[] {
  const members = scanMembers(bytes)
  const store = readMember(bytes, members, 'store')
  const reasoning = readMember(bytes, members, 'reasoning')
  const include = readMember(bytes, members, 'include') ?? []
  const isThinking = isObject(reasoning) && reasoning.effort !== 'none'
  const edits: Edit[] = []
  if (store !== false) edits.push(setMember(bytes, 'store', 'false'))
  if (
    wantsSealedReasoning({ isThinking, isKept: store !== false }, target) &&
    Array.isArray(include) &&
    !include.includes(SEALED_REASONING)
  ) {
    edits.push(setMember(bytes, 'include', JSON.stringify([...include, SEALED_REASONING])))
  }
  const input = members.find(({ key }) => key === 'input')
  return input && bytes[input.valueStart] === OPEN_BRACKET ? [...edits, ...inputEdits(bytes, input)] : edits
}

function readMember(bytes: Buffer, members: readonly Member[], key: string): unknown {
  const member = members.find(each => each.key === key)
  return member && JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd))
}

/** Types of items that say everything themselves; of all others, tools of the upstream's own, the id is a part. */
const NAMELESS_TYPES = new Set<unknown>([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'compaction',
])

function inputEdits(bytes: Buffer, input: Member): Edit[] {
  const elements = scanElements(bytes, input.valueStart)
  const items = elements.map(({ start }) => scanMembers(bytes, start))
  const isLost = items.map(item => isUnreadable(bytes, item))
  const idEdits = elements.flatMap(({ start }, index) => {
    const type = readMember(bytes, items[index] ?? [], 'type') ?? 'message'
    return NAMELESS_TYPES.has(type) && !isLost[index] ? removeMember(bytes, 'id', start) : []
  })
  return [...removeSpans(elements, index => isLost[index] === true), ...idEdits]
}

/** Reasoning that is neither sealed nor spelled out was but a name for what the upstream has kept. */
function isUnreadable(bytes: Buffer, item: readonly Member[]): boolean {
  const read = (key: string) => readMember(bytes, item, key)
  if (read('type') !== 'reasoning' || typeof read('encrypted_content') === 'string') return false
  const content = read('content')
  return !Array.isArray(content) || content.length === 0
}

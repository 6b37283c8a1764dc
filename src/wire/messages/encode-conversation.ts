import type { Call, Message, Part } from '#core/call.ts'
import { type BlockContext, encodeBlock, encodeContent } from './encode-block.ts'

type Json = Record<string, unknown>

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly blocks: Json[]
}

export interface Conversation {
  readonly system: unknown
  readonly messages: Json[]
}

/** Stands where the API wants a user's turn and the call has none. */
const PLACEHOLDER: Json = Object.freeze({ type: 'text', text: '(no message)' })

const JSON_INSTRUCTION: Json = Object.freeze({
  type: 'text',
  text: 'Answer with one JSON object and nothing else, no code fence either.',
})

/**
 * Messages as the API takes them: what instructs the model before the first turn stands apart, turns alternate and
 * begin with the user's, no block is blank, and every tool call has its result at the start of the turn after it.
 */
export function encodeConversation(call: Call, context: BlockContext): Conversation {
  const first = call.messages.findIndex(message => !isInstruction(message))
  const instructions = first === -1 ? call.messages : call.messages.slice(0, first)
  const system = instructions.flatMap(message => encodeInstruction(message, context))
  if (call.output?.type === 'json') system.push(JSON_INSTRUCTION)
  const turns = first === -1 ? [] : joinTurns(call.messages.slice(first), context)
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', blocks: [PLACEHOLDER] })
  const paired = turns.map((turn, i) => (turn.role === 'user' ? pairResults(turn, turns[i - 1], context) : turn))
  trimEnd(paired)
  return {
    system: system.length === 0 ? undefined : encodeContent(system),
    messages: paired.map(({ role, blocks }) => ({ role, content: encodeContent(blocks) })),
  }
}

function isInstruction({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

function encodeInstruction(message: Message, context: BlockContext): Json[] {
  return message.parts.flatMap(part => {
    if (part.type !== 'text') context.lacks(`a ${part.type} in the system prompt`)
    return part.type === 'text' ? encodeBlock(part, context) : []
  })
}

/** Neighbours of one role become one turn; one that says nothing is none. */
function joinTurns(messages: readonly Message[], context: BlockContext): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const blocks = isInstruction(message) ? encodeLateInstruction(message, context) : encodeTurn(message, context)
    if (blocks.length === 0) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks })
  }
  return turns
}

function encodeTurn(message: Message, context: BlockContext): Json[] {
  return message.parts.flatMap(part => encodeBlock(part, context))
}

/** Only some models take instructions after the first turn; as a marked text of the user, all do. */
function encodeLateInstruction(message: Message, context: BlockContext): Json[] {
  const blocks = encodeInstruction(message, context)
  if (blocks.length > 0) context.lacks('a system message after the first turn')
  return blocks.map(block => ({ ...block, text: `<system>\n${block.text}\n</system>` }))
}

/**
 * Results stand first in the turn after their calls. A call without a result and a result without a call would each
 * make the API refuse the whole request: the one gets a result that says so, the other becomes text.
 */
function pairResults(turn: Turn, before: Turn | undefined, context: BlockContext): Turn {
  const called = (before?.blocks ?? []).filter(block => block.type === 'tool_use').map(block => block.id)
  const answered = new Set<unknown>()
  const results: Json[] = []
  const others: Json[] = []
  for (const block of turn.blocks) {
    const id = block.tool_use_id
    if (block.type !== 'tool_result') others.push(block)
    else if (called.includes(id) && !answered.has(id)) {
      answered.add(id)
      results.push(block)
    } else {
      context.lacks('a tool result without its call')
      others.push(...textOfResult(block))
    }
  }
  for (const id of called) {
    if (answered.has(id)) continue
    context.lacks('a tool call without its result')
    results.push({ type: 'tool_result', tool_use_id: id, content: 'The tool was not run.', is_error: true })
  }
  return { role: 'user', blocks: [...results, ...others] }
}

function textOfResult({ tool_use_id: id, content }: Json): Json[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as Json[])
  return [{ type: 'text', text: `Result of the tool call ${id}:` }, ...blocks]
}

/** The API refuses white space at the end of an answer that the model is to go on with. */
function trimEnd(turns: readonly Turn[]): void {
  const last = turns.at(-1)
  const block = last?.role === 'assistant' ? last.blocks.at(-1) : undefined
  if (block?.type === 'text') last?.blocks.splice(-1, 1, { ...block, text: (block.text as string).trimEnd() })
}

/** Ids as the API takes them. Each id of the call has one of its own, and the same one wherever it stands. */
export function toolIds(): (id: string) => string {
  const given = new Map<string, string>()
  const taken = new Set<string>()
  return id => {
    const known = given.get(id)
    if (known !== undefined) return known
    const stem = id.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'toolu'
    let fresh = stem
    for (let n = 2; taken.has(fresh); n++) fresh = `${stem}_${n}`
    taken.add(fresh)
    given.set(id, fresh)
    return fresh
  }
}

/**
 * The model was thinking when it called tools, and thinks on when it has their results: then its last turn must begin
 * with the sealed thought. `true` when that thought is missing, as it is when the client's format cannot carry it.
 */
export function lacksThought(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(message => message.role === 'assistant')
  const isLoop = last !== -1 && messages.slice(last + 1).some(message => message.role === 'tool')
  if (!isLoop) return false
  const [first] = messages[last]?.parts ?? []
  return !isSealed(first)
}

function isSealed(part: Part | undefined): boolean {
  return part?.type === 'reasoning' && (part.signature !== undefined || part.encrypted !== undefined)
}

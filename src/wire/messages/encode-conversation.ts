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

/**
 * Messages as the API takes them: what instructs the model before the first turn stands apart, turns alternate and
 * begin with the user's, and no block is blank.
 */
export function encodeConversation(call: Call, context: BlockContext): Conversation {
  const first = call.messages.findIndex(message => !isInstruction(message))
  const instructions = first === -1 ? call.messages : call.messages.slice(0, first)
  const system = instructions.flatMap(message => encodeInstruction(message, context))
  const turns = first === -1 ? [] : joinTurns(call.messages.slice(first), context)
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', blocks: [PLACEHOLDER] })
  trimEnd(turns)
  return {
    system: system.length === 0 ? undefined : encodeContent(system),
    messages: turns.map(({ role, blocks }) => ({ role, content: encodeContent(blocks) })),
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

/** The API refuses white space at the end of an answer that the model is to go on with. */
function trimEnd(turns: readonly Turn[]): void {
  const last = turns.at(-1)
  const block = last?.role === 'assistant' ? last.blocks.at(-1) : undefined
  if (block?.type === 'text') last?.blocks.splice(-1, 1, { ...block, text: (block.text as string).trimEnd() })
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

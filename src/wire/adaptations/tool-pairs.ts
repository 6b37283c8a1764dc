import type { Message, Part, ToolCallPart, ToolResultPart } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import { gatherLosses, type Warn } from '../losses.ts'

/**
 * Each call of a tool has its result right after the turn that made it, in the order of the calls, and no result
 * stands anywhere else: upstreams of every format refuse a conversation that is otherwise. A call without a result
 * gets one that says so, a result without a call becomes text.
 */
export const adaptToolPairs: Adapt = (call, { upstream }) => {
  const isUsed = call.messages.some(({ parts }) => parts.some(part => isCall(part) || isResult(part)))
  if (!isUsed) return { call }
  const { warn, warnings } = gatherLosses(upstream)
  const messages = turnsOf(call.messages).flatMap(turn => pairTurn(turn, warn))
  return { call: { ...call, messages }, warnings: warnings() }
}

function isCall(part: Part): part is ToolCallPart {
  return part.type === 'tool-call'
}

function isResult(part: Part): part is ToolResultPart {
  return part.type === 'tool-result'
}

/** What the assistant said, and all that follows until it speaks again. */
interface Turn {
  readonly said: Message[]
  readonly heard: Message[]
}

function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [{ said: [], heard: [] }]
  for (const message of messages) {
    const isSaid = message.role === 'assistant'
    if (isSaid && turns.at(-1)?.heard.length !== 0) turns.push({ said: [], heard: [] })
    turns.at(-1)?.[isSaid ? 'said' : 'heard'].push(message)
  }
  return turns
}

function pairTurn({ said, heard }: Turn, warn: Warn): Message[] {
  const calls = said.flatMap(({ parts }) => parts.filter(isCall))
  const results = heard.flatMap(({ parts }) => parts.filter(isResult))
  const paired = calls.map(call => {
    const found = results.findIndex(({ callId }) => callId === call.id)
    const [result] = found === -1 ? [] : results.splice(found, 1)
    if (!result) warn('a tool call without its result')
    return result ?? missingResult(call)
  })
  if (results.length > 0) warn('a tool result without its call')
  const strays = new Set<Part>(results)
  const others = heard.flatMap(message => withoutPairs(message, strays))
  const answered: Message[] = paired.length === 0 ? [] : [{ role: 'tool', parts: paired }]
  return [...(calls.length === 0 ? said : joined(said)), ...answered, ...others]
}

/** The calls of a turn stand in one message, so that its results can follow all of them. */
function joined(said: readonly Message[]): Message[] {
  const [first, ...rest] = said
  return first ? [{ ...first, parts: [first, ...rest].flatMap(({ parts }) => parts) }] : []
}

function missingResult({ id }: ToolCallPart): ToolResultPart {
  const parts: readonly Part[] = [{ type: 'text', text: 'The tool was not run.' }]
  return { type: 'tool-result', callId: id, parts, isError: true }
}

/** What else was heard, and the results that belong to no call as the user's words. */
function withoutPairs(message: Message, strays: ReadonlySet<Part>): Message[] {
  const parts = message.parts.flatMap(part => (isResult(part) ? (strays.has(part) ? asText(part) : []) : [part]))
  if (parts.length === 0 && message.parts.length > 0) return []
  const hasStrays = message.parts.some(part => strays.has(part))
  return [{ ...message, role: message.role === 'tool' && hasStrays ? 'user' : message.role, parts }]
}

function asText({ callId, parts }: ToolResultPart): Part[] {
  return [{ type: 'text', text: `Result of the tool call ${callId}:` }, ...parts]
}

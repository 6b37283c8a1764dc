import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import { randomBase62 } from '#lib/base62.ts'
import type { Sides } from './adaptation.ts'
import type { FormatName } from './format.ts'

/** How ids of answers begin in each format. */
const ID_PREFIXES: Readonly<Record<FormatName, string>> = Object.freeze({
  'chat-completions': 'chatcmpl-',
  messages: 'msg_',
  responses: 'resp_',
  'generate-content': '',
})

const ID_DIGITS = 24

/**
 * With an id and a time of our own where the upstream gave none that the client could know for one: SDKs take an answer
 * without them for broken, and an id of another format tells who is behind a channel. Tool calls without an id get one
 * that no call of another turn has, since clients send all of them back.
 */
export function namedResult(result: Result, sides: Sides): Result {
  const choices = result.choices.map(choice => ({ ...choice, parts: choice.parts.map(namedPart) }))
  return { ...named(result, sides), choices }
}

/** The same of one event of a stream. */
export function namedEvent(event: CallEvent, sides: Sides): CallEvent {
  if (event.type === 'response-start') return named(event, sides)
  if (event.type !== 'part-start' || event.kind !== 'tool-call' || event.id !== '') return event
  return { ...event, id: newCallId() }
}

function named<T extends { readonly id: string; readonly createdAt: number }>(
  answer: T,
  { client, upstream }: Sides,
): T {
  const ownId = client === upstream ? answer.id : ''
  return {
    ...answer,
    id: ownId || ID_PREFIXES[client] + randomBase62(ID_DIGITS),
    createdAt: answer.createdAt || Math.floor(Date.now() / 1000),
  }
}

function namedPart(part: Part): Part {
  return part.type === 'tool-call' && part.id === '' ? { ...part, id: newCallId() } : part
}

function newCallId(): string {
  return `call_${randomBase62(ID_DIGITS)}`
}

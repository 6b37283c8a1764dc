import type { Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import type { FormatName } from './format.ts'

/** Kinds of parts that an answer of a format has no place for. */
const UNSAYABLE: Readonly<Record<FormatName, ReadonlySet<Part['type']>>> = Object.freeze({
  'chat-completions': new Set<Part['type']>(['video', 'document']),
  messages: new Set<Part['type']>(['image', 'video', 'document']),
  responses: new Set<Part['type']>(['video', 'document']),
  'generate-content': new Set<Part['type']>(),
})

/** Formats that tell sound by its words only. */
const MUTE: ReadonlySet<FormatName> = new Set<FormatName>(['messages', 'responses'])

/** What of an answer its client cannot be told, a sentence each. */
export function lossesOfResult({ choices }: Result, client: FormatName): string[] {
  const parts = choices.flatMap(choice => choice.parts)
  return [...new Set(parts.flatMap(part => lossOf(part, client) ?? []))]
}

/** The same of one event of a stream. */
export function lossOfEvent(event: CallEvent, client: FormatName): string | undefined {
  if (event.type !== 'part-start') return undefined
  if (event.kind === 'whole') return lossOf(event.value, client)
  return event.kind === 'audio' && MUTE.has(client) ? lossSentence('audio', client) : undefined
}

function lossOf(part: Part, client: FormatName): string | undefined {
  if (part.type === 'opaque') return part.format === client ? undefined : lossSentence(`${part.format} part`, client)
  if (part.type === 'audio') return MUTE.has(client) && !part.transcript ? lossSentence('audio', client) : undefined
  return UNSAYABLE[client].has(part.type) ? lossSentence(part.type, client) : undefined
}

function lossSentence(what: string, client: FormatName): string {
  return `the answer's ${what} has no equivalent in ${client}`
}

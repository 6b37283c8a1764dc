import type { Message, Part, ToolResultPart } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import type { FormatName } from '../format.ts'

/** What results of tools may hold and say in an upstream's format. */
interface ResultRules {
  readonly hasErrorFlag: boolean
  readonly hasMedia: boolean
}

const RULES: Readonly<Record<FormatName, ResultRules>> = Object.freeze({
  'chat-completions': { hasErrorFlag: false, hasMedia: false },
  responses: { hasErrorFlag: false, hasMedia: true },
  messages: { hasErrorFlag: true, hasMedia: true },
  'generate-content': { hasErrorFlag: true, hasMedia: true },
})

const MEDIA: ReadonlySet<Part['type']> = new Set(['image', 'audio', 'video', 'document'])

/** Results say in words that they are errors where there is no flag, and hand media to the user where they have none. */
export const adaptToolResults: Adapt = (call, { upstream }) => {
  const rules = RULES[upstream]
  const messages = call.messages.flatMap(message =>
    message.role === 'tool' ? adaptResults(message, rules) : [message],
  )
  return { call: { ...call, messages } }
}

function adaptResults(message: Message, { hasErrorFlag, hasMedia }: ResultRules): Message[] {
  const flagged = hasErrorFlag ? message.parts : message.parts.map(tellError)
  if (hasMedia) return [{ ...message, parts: flagged }]
  const media = flagged.flatMap(part => (part.type === 'tool-result' ? mediaOf(part) : []))
  const parts = flagged.map(part => (part.type === 'tool-result' ? withoutMedia(part) : part))
  return [{ ...message, parts }, ...(media.length === 0 ? [] : [{ role: 'user' as const, parts: media }])]
}

function tellError(part: Part): Part {
  if (part.type !== 'tool-result' || !part.isError) return part
  const { isError: _, ...result } = part
  const [first, ...rest] = result.parts
  if (first?.type !== 'text') return { ...result, parts: [{ type: 'text', text: 'Error' }, ...result.parts] }
  return { ...result, parts: [{ ...first, text: `Error: ${first.text}` }, ...rest] }
}

function mediaOf({ callId, parts }: ToolResultPart): Part[] {
  const media = parts.filter(part => MEDIA.has(part.type))
  return media.length === 0 ? [] : [{ type: 'text', text: `From the tool call ${callId}:` }, ...media]
}

function withoutMedia(result: ToolResultPart): ToolResultPart {
  const parts = result.parts.filter(part => !MEDIA.has(part.type))
  if (parts.length === result.parts.length) return result
  const note: Part = { type: 'text', text: 'See the next message of the user.' }
  return { ...result, parts: parts.length === 0 ? [note] : parts }
}

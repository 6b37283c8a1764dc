import type { Part } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import type { FormatName } from '../format.ts'
import { mapParts, partsOf } from './map-parts.ts'
import { renamer } from './renamer.ts'

/**
 * Ids of tool calls as each upstream takes them. OpenAI's limits are those of its errors: 40 characters in
 * chat-completions, 64 in responses. Google's ids are free.
 */
const ALLOWED: Readonly<Record<FormatName, RegExp>> = Object.freeze({
  'chat-completions': /^.{1,40}$/s,
  responses: /^.{1,64}$/s,
  messages: /^[A-Za-z0-9_-]+$/,
  'generate-content': /^/,
})

/** What Mistral's hosts take. */
const SHORT = /^[A-Za-z0-9]{9}$/
const SHORT_DIGITS = 9

/** Fits the narrowest of the formats. */
const SEED_DIGITS = 24

/** A tool call whose id the upstream would refuse has another one there, in the call and in its result. */
export const adaptToolIds: Adapt = (call, { upstream, quirks }) => {
  const isShort = quirks.shortToolIds === true
  const allowed = isShort ? SHORT : ALLOWED[upstream]
  const isAllowed = (id: string) => allowed.test(id)
  const ids = partsOf(call).flatMap(part => idOf(part) ?? [])
  if (ids.every(isAllowed)) return { call }
  const make = (_id: string, seed: string) =>
    isShort ? seed.slice(0, SHORT_DIGITS) : `call_${seed.slice(0, SEED_DIGITS)}`
  const { to } = renamer(ids, isAllowed, make)
  return { call: mapParts(call, part => withId(part, to)) }
}

function idOf(part: Part): string | undefined {
  if (part.type === 'tool-call') return part.id
  return part.type === 'tool-result' ? part.callId : undefined
}

function withId(part: Part, to: (id: string) => string): Part {
  if (part.type === 'tool-call') return { ...part, id: to(part.id) }
  return part.type === 'tool-result' ? { ...part, callId: to(part.callId) } : part
}

import type { Call } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import { instruct } from './instruct.ts'
import { partsOf } from './map-parts.ts'

const INSTRUCTION = 'Answer with one JSON object and nothing else, no code fence either.'

/**
 * An answer in JSON without a schema: messages has no such mode, and OpenAI's refuses a conversation that does not
 * speak of JSON. The instruction stands with the others, before the conversation.
 */
export const adaptJsonMode: Adapt = (call, { upstream }) => {
  if (call.output?.type !== 'json' || upstream === 'generate-content') return { call }
  if (upstream !== 'messages' && speaksOfJson(call)) return { call }
  return { call: instruct(call, INSTRUCTION) }
}

function speaksOfJson(call: Call): boolean {
  return partsOf(call).some(part => part.type === 'text' && /json/i.test(part.text))
}

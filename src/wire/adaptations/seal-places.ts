import type { ReasoningPart } from '#core/call.ts'
import type { FormatName } from '../format.ts'

/** Where a client of a format keeps seals, so that typed clients send them back. */
export interface SealPlaces {
  /** Of a thought. */
  readonly thought: keyof Pick<ReasoningPart, 'signature' | 'encrypted'>
  /** A tool call can be sealed itself. Where it cannot, a thought of its own before it carries the seal. */
  readonly onCalls: boolean
  /** A text can. Where it cannot, a thought after it does: a stream tells the seal last. */
  readonly onTexts: boolean
  /** Thoughts stay where they are among the other parts. */
  readonly keepsOrder: boolean
}

export const SEAL_PLACES: Readonly<Record<FormatName, SealPlaces>> = Object.freeze({
  'chat-completions': { thought: 'signature', onCalls: true, onTexts: false, keepsOrder: false },
  messages: { thought: 'signature', onCalls: false, onTexts: false, keepsOrder: true },
  responses: { thought: 'encrypted', onCalls: false, onTexts: false, keepsOrder: true },
  'generate-content': { thought: 'signature', onCalls: true, onTexts: true, keepsOrder: true },
} as const)

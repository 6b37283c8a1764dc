import type { ReasoningPart } from '#core/call.ts'
import type { FormatName } from '../format.ts'

/** Where clients of a format keep seals, so that typed ones send them back, and what its upstreams do without them. */
export interface SealPlaces {
  /** Of a thought. */
  readonly thought: keyof Pick<ReasoningPart, 'signature' | 'encrypted'>
  /** A tool call can be sealed itself. Where it cannot, a thought of its own before it carries the seal. */
  readonly onCalls: boolean
  /** A text can. Where it cannot, a thought after it does: a stream tells the seal last. */
  readonly onTexts: boolean
  /** Thoughts stay where they are among the other parts. */
  readonly keepsOrder: boolean
  /** Upstreams take thoughts that nobody has sealed; others refuse the request, or have no use for them. */
  readonly takesWords: boolean
}

export const SEAL_PLACES: Readonly<Record<FormatName, SealPlaces>> = Object.freeze({
  'chat-completions': { thought: 'signature', onCalls: true, onTexts: false, keepsOrder: false, takesWords: true },
  messages: { thought: 'signature', onCalls: false, onTexts: false, keepsOrder: true, takesWords: false },
  responses: { thought: 'encrypted', onCalls: false, onTexts: false, keepsOrder: true, takesWords: false },
  'generate-content': { thought: 'signature', onCalls: true, onTexts: true, keepsOrder: true, takesWords: true },
} as const)

import type { Target } from '#core/work.ts'

/** The entry of `include` that asks for reasoning which can be sent back to an upstream that has kept nothing. */
export const SEALED_REASONING = 'reasoning.encrypted_content'

/**
 * Whether to ask for it, since no upstream keeps anything (docs/decisions, "Responses are kept by the gateway"). A model
 * that does not reason may refuse it, so either the request or the operator must say that this one does.
 *
 * @param isKept the gateway keeps the answer and may send it back
 */
export function wantsSealedReasoning(
  { isThinking, isKept }: { isThinking: boolean; isKept: boolean },
  { quirks, capabilities = [] }: Target,
): boolean {
  if (quirks.encryptedReasoning === false) return false
  return isThinking || (isKept && capabilities.includes('reasoning'))
}

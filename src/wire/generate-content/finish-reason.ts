import type { Finish, FinishReason } from '#core/result.ts'

const DECODED: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'refusal'],
  ['RECITATION', 'refusal'],
  ['BLOCKLIST', 'refusal'],
  ['PROHIBITED_CONTENT', 'refusal'],
  ['SPII', 'refusal'],
  ['MODEL_ARMOR', 'refusal'],
  ['IMAGE_SAFETY', 'refusal'],
  ['IMAGE_PROHIBITED_CONTENT', 'refusal'],
  ['IMAGE_RECITATION', 'refusal'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ['LANGUAGE', 'other'],
  ['OTHER', 'other'],
  ['NO_IMAGE', 'other'],
  ['IMAGE_OTHER', 'other'],
  ['CONTINUATION', 'other'],
  ['FINISH_REASON_UNSPECIFIED', 'other'],
])

const ENCODED: Readonly<Record<FinishReason, string>> = Object.freeze({
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  refusal: 'SAFETY',
  pause: 'STOP',
  error: 'OTHER',
  other: 'OTHER',
})

/** The format has no word for "calls tools": a candidate with calls stops like any other. */
export function decodeFinish(value: unknown, { hasToolCalls }: { hasToolCalls: boolean }): Finish {
  const raw = typeof value === 'string' ? value : undefined
  const reason = (raw !== undefined && DECODED.get(raw)) || 'other'
  return { reason: reason === 'stop' && hasToolCalls ? 'tool-calls' : reason, raw }
}

/** Whether a candidate has said why it ended: some hosts send an empty reason, or that there is none yet. */
export function isFinishReason(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'FINISH_REASON_UNSPECIFIED'
}

/** `promptFeedback.blockReason`: the prompt was refused and nothing was generated. */
export function decodeBlock(blockReason: string): Finish {
  return { reason: 'refusal', raw: blockReason }
}

/** The provider's own word where it is one of this format and means the same. */
export function encodeFinish({ reason, raw }: Finish): string {
  return raw !== undefined && DECODED.get(raw) === reason ? raw : ENCODED[reason]
}

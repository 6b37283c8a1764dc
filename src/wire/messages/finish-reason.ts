import type { Finish, FinishReason } from '#core/result.ts'

const DECODED: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-calls'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
])

const ENCODED: Readonly<Record<FinishReason, string>> = Object.freeze({
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'end_turn',
  other: 'end_turn',
})

/** @param answer what has the stop reason: a message, or the delta that ends one */
export function decodeFinish(answer: Readonly<Record<string, unknown>>): Finish {
  const { stop_reason, stop_sequence } = answer
  const raw = typeof stop_reason === 'string' ? stop_reason : undefined
  return {
    reason: (raw !== undefined && DECODED.get(raw)) || 'other',
    raw,
    ...(typeof stop_sequence === 'string' && { stopSequence: stop_sequence }),
  }
}

/** @param hasToolCalls the answer calls tools: clients run them only when the reason says so, and not every host does */
export function encodeFinish(finish: Finish, hasToolCalls: boolean): Record<string, unknown> {
  return { stop_reason: stopReason(finish, hasToolCalls), stop_sequence: finish.stopSequence ?? null }
}

function stopReason({ reason, raw }: Finish, hasToolCalls: boolean): string {
  if (hasToolCalls && (reason === 'stop' || reason === 'other')) return 'tool_use'
  // Two of this format's words mean `length`: the one that was said is the truer.
  if (raw !== undefined && DECODED.get(raw) === reason) return raw
  return ENCODED[reason]
}

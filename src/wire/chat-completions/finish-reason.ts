import type { Finish, FinishReason } from '#core/result.ts'

const DECODED: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'refusal'],
  // Mistral's words.
  ['model_length', 'length'],
  ['error', 'error'],
])

const ENCODED: Readonly<Record<FinishReason, string>> = Object.freeze({
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop',
  other: 'stop',
})

/** @param hasToolCalls the answer calls tools: not every host says so, and OpenAI does not of a call that was forced */
export function decodeFinish(value: unknown, { hasToolCalls }: { hasToolCalls: boolean }): Finish {
  const raw = typeof value === 'string' ? value : undefined
  const reason = (raw !== undefined && DECODED.get(raw)) || 'other'
  const isPlain = reason === 'stop' || raw === undefined || raw === ''
  return { reason: isPlain && hasToolCalls ? 'tool-calls' : reason, raw }
}

export function encodeFinish(finish: Finish): string {
  return ENCODED[finish.reason]
}

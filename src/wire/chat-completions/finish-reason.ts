import type { Finish, FinishReason } from '#core/result.ts'

const DECODED: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'refusal'],
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

export function decodeFinish(value: unknown): Finish {
  const raw = typeof value === 'string' ? value : undefined
  return { reason: (raw !== undefined && DECODED.get(raw)) || 'other', raw }
}

export function encodeFinish(finish: Finish): string {
  return ENCODED[finish.reason]
}

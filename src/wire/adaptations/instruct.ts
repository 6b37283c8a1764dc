import type { Call, Message } from '#core/call.ts'

/** The call with one more instruction, which stands with the others, before the conversation. */
export function instruct(call: Call, text: string): Call {
  const instruction: Message = { role: 'system', parts: [{ type: 'text', text }] }
  const first = call.messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const messages = call.messages.toSpliced(first === -1 ? call.messages.length : first, 0, instruction)
  return { ...call, messages }
}

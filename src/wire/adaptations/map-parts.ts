import type { Call, Part } from '#core/call.ts'

/** The call with every part of its conversation mapped, those inside tool results excepted. */
export function mapParts(call: Call, map: (part: Part) => Part): Call {
  return { ...call, messages: call.messages.map(message => ({ ...message, parts: message.parts.map(map) })) }
}

export function partsOf(call: Call): Part[] {
  return call.messages.flatMap(message => message.parts)
}

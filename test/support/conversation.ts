import type { Call, Message, Part, ToolCallPart, ToolResultPart } from '#core/call.ts'
import type { Adapt, Adaptation, Sides } from '#wire/adaptation.ts'

/** Conversations in the neutral form, written briefly. */

export const say = (text: string): Part => ({ type: 'text', text })
export const user = (...parts: Part[]): Message => ({ role: 'user', parts })
export const system = (...parts: Part[]): Message => ({ role: 'system', parts })
export const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts })
export const results = (...parts: Part[]): Message => ({ role: 'tool', parts })

export function calling(id: string, fields: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: 'tool-call', kind: 'function', id, name: 'f', arguments: '{}', ...fields }
}

export function resulting(callId: string, ...parts: Part[]): ToolResultPart {
  return { type: 'tool-result', callId, parts }
}

export function callOf(messages: readonly Message[], fields: Partial<Call> = {}): Call {
  return { model: 'public-model', messages, isStream: false, wantsStreamUsage: false, extensions: {}, ...fields }
}

/** An adaptation of a chat-completions client's call for an upstream that speaks messages, unless told otherwise. */
export function adapting(adapt: Adapt, call: Call, sides: Partial<Sides> = {}): Adaptation {
  return adapt(call, { client: 'chat-completions', upstream: 'messages', quirks: {}, ...sides })
}

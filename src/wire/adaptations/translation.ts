import type { Message } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import { translationInstruction } from '../translation-instruction.ts'

/** Where the upstream has no options for translating, the model is told in words to do nothing else. */
export const adaptTranslation: Adapt = (call, { upstream, quirks }) => {
  const { translation, ...rest } = call
  if (!translation || (upstream === 'chat-completions' && quirks.translationOptions)) return { call }
  const instruction: Message = { role: 'system', parts: [{ type: 'text', text: translationInstruction(translation) }] }
  return { call: { ...rest, messages: [instruction, ...call.messages] } }
}

import type { Message } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'

/** Where the format has no options for translating, the model is told in words to do nothing else. */
export const adaptTranslation: Adapt = (call, { upstream }) => {
  const { translation, ...rest } = call
  if (!translation || upstream === 'chat-completions') return { call }
  const from = translation.sourceLanguage === undefined ? '' : ` from ${translation.sourceLanguage}`
  const text = `Translate the user's text${from} into ${translation.targetLanguage}. Answer with the translation alone.`
  const instruction: Message = { role: 'system', parts: [{ type: 'text', text }] }
  return { call: { ...rest, messages: [instruction, ...call.messages] } }
}

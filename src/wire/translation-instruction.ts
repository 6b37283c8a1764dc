import type { Call } from '#core/call.ts'

/** What a model is told whose upstream has no options for translating. */
export function translationInstruction({ sourceLanguage, targetLanguage }: NonNullable<Call['translation']>): string {
  const from = sourceLanguage === undefined ? '' : ` from ${sourceLanguage}`
  return `Translate the user's text${from} into ${targetLanguage}. Answer with the translation alone.`
}

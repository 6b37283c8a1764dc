import type { Provider } from '../provider.ts'
import { generateContent } from './generate-content.ts'
import { tokenCount } from './token-count.ts'

/** Google's Gemini API. */
export const google: Provider = Object.freeze({
  name: 'google',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  auth: (apiKey: string | undefined): Record<string, string> =>
    apiKey === undefined ? {} : { 'x-goog-api-key': apiKey },
  probePath: '/models',
  operations: Object.freeze({ chat: [generateContent], 'token-count': [tokenCount] }),
})

import type { Provider } from '../provider.ts'
import { auth } from './auth.ts'
import { chatCompletions, contentTokens, generateContent, hostOf, messages, messageTokens } from './endpoints.ts'
import { check, settings } from './settings.ts'

/** Google Cloud's Vertex AI. Nothing there that any key may ask is free: a token that is given out must do. */
export const vertex: Provider = Object.freeze({
  name: 'vertex',
  baseUrl: hostOf,
  settings,
  check,
  auth,
  operations: Object.freeze({
    chat: [generateContent, messages, chatCompletions],
    'token-count': [contentTokens, messageTokens],
  }),
})

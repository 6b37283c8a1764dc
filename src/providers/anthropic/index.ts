import type { Provider } from '../provider.ts'
import { messages } from './messages.ts'
import { tokenCount } from './token-count.ts'

/** The version whose shapes the messages format is written for; a caller's own version goes on instead. */
const VERSION = '2023-06-01'

export const anthropic: Provider = Object.freeze({
  name: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  auth: (apiKey: string | undefined) => ({
    'anthropic-version': VERSION,
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
  }),
  probePath: '/models',
  operations: Object.freeze({ chat: [messages], 'token-count': [tokenCount] }),
})

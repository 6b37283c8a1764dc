import type { Endpoint } from '../provider.ts'

/** OpenAI API reference, "Create chat completion". */
export const chat: Endpoint = Object.freeze({ format: 'chat-completions', path: '/chat/completions' })

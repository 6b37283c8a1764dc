import { host } from '../host.ts'

/** Cerebras (docs, "OpenAI Compatibility"; the types of its SDK): thoughts come and go as `reasoning`. */
export const cerebras = host({
  name: 'cerebras',
  baseUrl: 'https://api.cerebras.ai/v1',
  serves: ['chat'],
  quirks: { messageFields: { reasoning_content: 'reasoning' }, customTools: false },
})

import { host } from '../host.ts'

/** Together AI (API reference, "Create chat completion"; the types of its SDK): `max_tokens`, no role `developer`. */
export const together = host({
  name: 'together',
  baseUrl: 'https://api.together.xyz/v1',
  serves: ['chat', 'embeddings'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens' },
    messageFields: { reasoning_content: 'reasoning' },
    roles: { developer: 'system' },
    customTools: false,
  },
})

import { host } from '../host.ts'

/** Ollama (its docs, "OpenAI compatibility", which lists the members that it knows): `max_tokens`. Local, without a key. */
export const ollama = host({
  name: 'ollama',
  baseUrl: 'http://localhost:11434/v1',
  serves: ['chat', 'embeddings'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens' },
    messageFields: { reasoning_content: 'reasoning' },
    customTools: false,
  },
})

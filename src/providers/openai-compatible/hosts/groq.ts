import { host } from '../host.ts'

/**
 * Groq (its docs, "OpenAI Compatibility" and "Reasoning"; the types of its SDK). Thoughts come and go as `reasoning`.
 * It answers 400 to `logit_bias`, `logprobs`, `n` other than 1 and a message's `name`: a name is left out, the others
 * change what is answered, so they are its to refuse.
 */
export const groq = host({
  name: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  serves: ['chat'],
  quirks: { messageFields: { name: null, reasoning_content: 'reasoning' }, customTools: false },
})

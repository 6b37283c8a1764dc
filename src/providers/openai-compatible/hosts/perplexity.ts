import { host } from '../host.ts'

/** Perplexity's Sonar (docs, "OpenAI SDK Compatibility"): `max_tokens`; JSON schemas, but no tools. */
export const perplexity = host({
  name: 'perplexity',
  baseUrl: 'https://api.perplexity.ai',
  serves: ['chat'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens' },
    customTools: false,
    roles: { developer: 'system' },
  },
})

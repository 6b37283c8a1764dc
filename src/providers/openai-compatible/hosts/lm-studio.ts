import { host } from '../host.ts'

/** LM Studio (its docs, "OpenAI Compatibility Endpoints", which list the members that it knows): `max_tokens`. Local. */
export const lmStudio = host({
  name: 'lm-studio',
  baseUrl: 'http://localhost:1234/v1',
  serves: ['chat', 'embeddings'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens' },
    customTools: false,
  },
})

import { host } from '../host.ts'

/**
 * Mistral (API reference, "Chat Completion" and "Embeddings"; the schemas of its SDK). It refuses members that it does
 * not know, streams bring their usage unasked, ids of tool calls have nine letters and digits, and thoughts are chunks of
 * the content, so that `reasoning_content` cannot go back.
 */
export const mistral = host({
  name: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  serves: ['chat', 'embeddings'],
  quirks: {
    streamOptions: false,
    shortToolIds: true,
    customTools: false,
    fields: {
      max_completion_tokens: 'max_tokens',
      seed: 'random_seed',
      dimensions: 'output_dimension',
      safety_identifier: null,
      service_tier: null,
      store: null,
      user: null,
      verbosity: null,
    },
    messageFields: { name: null, reasoning_content: null, reasoning_details: null, refusal: null },
    roles: { developer: 'system' },
  },
})

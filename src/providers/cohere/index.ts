import type { Provider } from '../provider.ts'

/**
 * Cohere: chat by its compatibility API, which keeps tools, schemas and the usage of streams (docs, "Using Cohere models via
 * the OpenAI SDK"), embeddings by its own, where a caller can say what a vector is for (docs/decisions).
 */
export const cohere: Provider = Object.freeze({
  name: 'cohere',
  baseUrl: 'https://api.cohere.ai',
  auth: (apiKey: string | undefined) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  probePath: '/v1/models',
  operations: Object.freeze({
    chat: [{ format: 'chat-completions', path: '/compatibility/v1/chat/completions' }],
    embeddings: [{ format: 'cohere-embed', path: '/v2/embed' }],
  }),
  quirks: Object.freeze({
    customTools: false,
    // Its list of what it does not take, of which `n`, `audio` and `logit_bias` change what is answered and so are its to refuse.
    fields: {
      max_completion_tokens: 'max_tokens',
      metadata: null,
      parallel_tool_calls: null,
      prediction: null,
      service_tier: null,
      store: null,
    },
  }),
})

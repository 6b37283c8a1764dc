import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'cohere',
  source: 'docs.cohere.com, Using Cohere models via the OpenAI SDK, and Embed API (v2)',
  chat: {
    path: '/compatibility/v1/chat/completions',
    limit: 'max_tokens',
    refuses: {
      fields: ['max_completion_tokens', 'metadata', 'parallel_tool_calls', 'service_tier', 'store'],
      tools: ['custom'],
    },
    finds: { max_tokens: 500, seed: 7 },
  },
  embeddings: {
    path: '/v2/embed',
    finds: {
      texts: ['one', 'two'],
      input_type: 'search_document',
      embedding_types: ['float'],
      output_dimension: 2,
    },
    refuses: ['input', 'dimensions', 'encoding_format', 'user'],
    answer: vectors => ({
      id: 'embedded',
      embeddings: { float: vectors },
      texts: ['one', 'two'],
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: 7 } },
    }),
  },
})

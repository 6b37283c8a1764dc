import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'mistral',
  source: 'docs.mistral.ai/api, Chat and Embeddings; schemas of @mistralai/mistralai',
  chat: {
    limit: 'max_tokens',
    refuses: {
      fields: [
        'max_completion_tokens',
        'seed',
        'stream_options',
        'store',
        'user',
        'safety_identifier',
        'service_tier',
        'verbosity',
      ],
      messageFields: ['reasoning_content', 'reasoning_details', 'refusal'],
      roles: ['developer'],
      tools: ['custom'],
      toolIds: /^[A-Za-z0-9]{9}$/,
    },
    finds: { max_tokens: 500, random_seed: 7, metadata: { trace: '1' }, parallel_tool_calls: true },
  },
  embeddings: {
    finds: { input: ['one', 'two'], output_dimension: 2 },
    refuses: ['dimensions', 'user'],
  },
})

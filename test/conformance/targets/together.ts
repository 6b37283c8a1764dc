import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'together',
  source: 'docs.together.ai, Create chat completion; types of together-ai',
  chat: {
    limit: 'max_tokens',
    refuses: {
      fields: ['max_completion_tokens'],
      messageFields: ['reasoning_content'],
      roles: ['developer'],
      tools: ['custom'],
    },
    finds: { max_tokens: 500, seed: 7 },
  },
  embeddings: {},
})

import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'ollama',
  source: 'docs.ollama.com/api/openai-compatibility',
  chat: {
    limit: 'max_tokens',
    refuses: { fields: ['max_completion_tokens'], tools: ['custom'] },
    finds: { max_tokens: 500, seed: 7 },
  },
  embeddings: {},
})

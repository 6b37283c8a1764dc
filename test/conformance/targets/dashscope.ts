import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'dashscope',
  source: 'alibabacloud.com, Model Studio, OpenAI compatible - Chat',
  chat: {
    limit: 'max_tokens',
    refuses: { roles: ['developer'], tools: ['custom'] },
    finds: { max_tokens: 500, seed: 7 },
  },
  embeddings: {},
})

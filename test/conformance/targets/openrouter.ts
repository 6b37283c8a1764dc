import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'openrouter',
  source: 'openrouter.ai/docs, API reference and Reasoning Tokens',
  chat: {
    refuses: { messageFields: ['reasoning_content'], tools: ['custom'] },
    finds: { max_completion_tokens: 500, seed: 7 },
  },
  embeddings: {},
})

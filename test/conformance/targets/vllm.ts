import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'vllm',
  source: 'docs.vllm.ai, OpenAI-Compatible Server',
  chat: { refuses: { tools: ['custom'] }, finds: { max_completion_tokens: 500 } },
  embeddings: {},
})

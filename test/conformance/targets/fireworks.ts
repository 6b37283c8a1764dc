import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'fireworks',
  source: 'docs.fireworks.ai, OpenAI compatibility',
  chat: { refuses: { tools: ['custom'] }, finds: { seed: 7 } },
  embeddings: {},
})

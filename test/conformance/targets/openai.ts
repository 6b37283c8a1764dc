import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'openai',
  source: 'OpenAI API reference',
  chat: {},
  embeddings: {},
})

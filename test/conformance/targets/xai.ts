import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'xai',
  source: 'docs.x.ai, Chat completions',
  chat: { finds: { max_completion_tokens: 500, seed: 7 } },
})

import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'groq',
  source: 'console.groq.com/docs/openai; types of groq-sdk',
  chat: {
    refuses: { fields: ['logit_bias', 'logprobs'], messageFields: ['name', 'reasoning_content'], tools: ['custom'] },
    finds: { max_completion_tokens: 500, seed: 7 },
  },
})

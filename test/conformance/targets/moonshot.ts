import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'moonshot',
  source: 'platform.kimi.ai/docs/api/chat',
  chat: {
    refuses: { roles: ['developer'], tools: ['custom'] },
    finds: { max_completion_tokens: 500 },
  },
})

import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'zai',
  source: 'docs.z.ai, Chat Completion',
  chat: {
    limit: 'max_tokens',
    refuses: {
      fields: ['max_completion_tokens', 'stream_options', 'user'],
      roles: ['developer'],
      outputs: ['json_schema'],
      tools: ['custom'],
    },
    finds: { max_tokens: 500, user_id: 'alice', response_format: { type: 'json_object' } },
  },
})

import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'deepseek',
  source: 'api-docs.deepseek.com, Create Chat Completion',
  chat: {
    limit: 'max_tokens',
    refuses: { fields: ['max_completion_tokens'], roles: ['developer'], outputs: ['json_schema'], tools: ['custom'] },
    finds: { max_tokens: 500, response_format: { type: 'json_object' } },
  },
})

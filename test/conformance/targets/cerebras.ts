import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'cerebras',
  source: 'inference-docs.cerebras.ai, OpenAI Compatibility; types of @cerebras/cerebras_cloud_sdk',
  chat: {
    refuses: { messageFields: ['reasoning_content'], tools: ['custom'] },
    finds: { max_completion_tokens: 500, seed: 7 },
  },
})

import type { Endpoint } from '../provider.ts'

/** Bedrock user guide, "Invoke a model with the OpenAI Chat Completions API": models with open weights. */
export const chatCompletions: Endpoint = Object.freeze({
  format: 'chat-completions',
  path: '/openai/v1/chat/completions',
  models: /^(?!.*anthropic\.)/,
})

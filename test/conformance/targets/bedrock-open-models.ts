import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'bedrock',
  api: 'open-models',
  source: 'Amazon Bedrock user guide, Invoke a model with the OpenAI Chat Completions API',
  channel: () => ({ aws: { region: 'eu-central-1' } }),
  chat: { path: '/openai/v1/chat/completions' },
})

import { openAiLike } from '../openai-like.ts'
import { KEY } from '../target.ts'

export const target = openAiLike({
  provider: 'azure-openai',
  api: 'dated',
  source: 'Azure OpenAI in Microsoft Foundry, REST API reference, 2024-10-21',
  isAuthorized: headers => headers['api-key'] === KEY,
  channel: () => ({ api_version: '2024-10-21' }),
  chat: { path: '/openai/deployments/{model}/chat/completions?api-version=2024-10-21' },
  embeddings: { path: '/openai/deployments/{model}/embeddings?api-version=2024-10-21' },
})

import { openAiLike } from '../openai-like.ts'
import { KEY } from '../target.ts'

export const target = openAiLike({
  provider: 'azure-openai',
  source: 'Azure OpenAI in Microsoft Foundry, REST API reference, v1',
  isAuthorized: headers => headers['api-key'] === KEY,
  chat: { path: '/openai/v1/chat/completions' },
  embeddings: { path: '/openai/v1/embeddings' },
})

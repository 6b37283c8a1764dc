import { knownByMachine } from '../google-cloud.ts'
import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'vertex',
  api: 'open-models',
  source: 'Vertex AI, Chat Completions API',
  ...knownByMachine({ project: 'acme', location: 'europe-west4' }),
  chat: { path: '/v1/projects/acme/locations/europe-west4/endpoints/openapi/chat/completions' },
})

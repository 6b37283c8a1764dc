import { messages } from '../../matrix/upstreams/messages.ts'
import { knownByMachine } from '../google-cloud.ts'
import type { Target } from '../target.ts'

const MODEL = '/v1/projects/acme/locations/global/publishers/anthropic/models/{model}'

export const target: Target = {
  provider: 'vertex',
  api: 'claude',
  source: "Vertex AI, Use Anthropic's Claude models",
  ...knownByMachine({ project: 'acme' }),
  chat: {
    format: 'messages',
    path: `${MODEL}:rawPredict`,
    streamPath: `${MODEL}:streamRawPredict`,
    refuses: { fields: ['model'] },
    finds: { anthropic_version: 'vertex-2023-10-16', max_tokens: 500, stream: true },
    read: (body, path) => {
      const [, model] = /\/models\/([^:]+):/.exec(path) ?? []
      return messages.read({ ...body, model }, path)
    },
    mockPath: () => '/v1/messages',
  },
}

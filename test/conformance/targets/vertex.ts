import { generateContent } from '../../matrix/upstreams/generate-content.ts'
import { knownByMachine } from '../google-cloud.ts'
import type { Target } from '../target.ts'

const MODEL = '/v1/projects/acme/locations/europe-west4/publishers/google/models/{model}'

/** Gemini. Other credentials are proved in `test/sdk/clouds.test.ts`. */
export const target: Target = {
  provider: 'vertex',
  source: 'Vertex AI reference, generateContent',
  ...knownByMachine({ project: 'acme', location: 'europe-west4' }),
  chat: {
    format: 'generate-content',
    path: `${MODEL}:generateContent`,
    streamPath: `${MODEL}:streamGenerateContent?alt=sse`,
    read: (body, path) => generateContent.read(body, path.replace(/^.*(?=\/models\/)/, generateContent.basePath)),
    mockPath: path => path,
  },
}

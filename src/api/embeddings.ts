import type { AnyRoute } from '#http/inbound/route.ts'
import { embeddingsWork } from '#wire/embeddings/index.ts'
import { EmbeddingsRequest } from '#wire/embeddings/request.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

export function embeddings(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/embeddings',
    work: ({ body }) => embeddingsWork(body),
    docs: { tag: 'Embeddings', summary: 'Create embeddings', body: EmbeddingsRequest },
  })
}

import { host } from '../host.ts'

/** Jina AI (API reference, "Embeddings"): `embedding_type`, which takes `float` and `base64` like its namesake. */
export const jina = host({
  name: 'jina',
  baseUrl: 'https://api.jina.ai/v1',
  serves: ['embeddings'],
  quirks: { fields: { encoding_format: 'embedding_type', user: null } },
})

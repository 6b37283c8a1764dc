import type { Endpoint } from '../provider.ts'

/** OpenAI API reference, "Create embeddings". */
export const embeddings: Endpoint = Object.freeze({ format: 'embeddings', path: '/embeddings' })

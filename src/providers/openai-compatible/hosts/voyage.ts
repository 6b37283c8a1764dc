import { host } from '../host.ts'

/** Voyage AI (API reference, "Text embeddings"): floats unless base64 is asked for by that word, and other words for the rest. */
export const voyage = host({
  name: 'voyage',
  baseUrl: 'https://api.voyageai.com/v1',
  serves: ['embeddings'],
  quirks: { fields: { dimensions: 'output_dimension', encoding_format: null, user: null } },
})

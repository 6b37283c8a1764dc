import type { Endpoint } from '../provider.ts'

/** Gemini API reference, "Generating content". Without `alt=sse` a stream would be one JSON array. */
export const generateContent: Endpoint = Object.freeze({
  format: 'generate-content',
  path: '/models/{model}:generateContent',
  streamPath: '/models/{model}:streamGenerateContent?alt=sse',
})

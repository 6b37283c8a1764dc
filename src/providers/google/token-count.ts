import type { Endpoint } from '../provider.ts'

/** Gemini API reference, "Counting tokens". */
export const tokenCount: Endpoint = Object.freeze({ format: 'generate-content', path: '/models/{model}:countTokens' })

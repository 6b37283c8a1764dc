import type { Endpoint } from '../provider.ts'

/** Anthropic API reference, "Count tokens in a message". */
export const tokenCount: Endpoint = Object.freeze({ format: 'messages', path: '/messages/count_tokens' })

import type { Endpoint } from '../provider.ts'

/** Anthropic API reference, "Create a message". */
export const messages: Endpoint = Object.freeze({ format: 'messages', path: '/messages' })

import type { Endpoint } from '../provider.ts'

/** OpenAI API reference, "Create a model response". Few of the hosts that speak OpenAI's API have it. */
export const responses: Endpoint = Object.freeze({ format: 'responses', path: '/responses', isRare: true })

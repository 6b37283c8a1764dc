import type { Endpoint } from '../provider.ts'

/** OpenAI API reference, "Get input token counts". Few of the hosts that speak OpenAI's API have it. */
export const tokenCount: Endpoint = Object.freeze({
  format: 'responses',
  path: '/responses/input_tokens',
  isRare: true,
})

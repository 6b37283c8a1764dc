import { host } from '../host.ts'

/**
 * xAI (API reference, "Chat completions" and "Create new response"; guides "Reasoning" and "Best Practices"). Its reasoning
 * models refuse penalties and `stop`: that is a model's affair and not the host's, so they go on to be refused.
 */
export const xai = host({
  name: 'xai',
  baseUrl: 'https://api.x.ai/v1',
  serves: ['chat', 'responses'],
  quirks: { customTools: false },
})

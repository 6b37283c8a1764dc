import { host } from '../host.ts'

/**
 * OpenRouter (API reference; guide "Reasoning Tokens"). Thoughts go back as `reasoning` beside their `reasoning_details`.
 * Its list of models is public, so a key is tried at `/key`. It tells callers apart by the headers `HTTP-Referer` and
 * `X-Title`: a channel's `headers` may hold them.
 */
export const openrouter = host({
  name: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  serves: ['chat', 'embeddings'],
  probePath: '/key',
  quirks: { messageFields: { reasoning_content: 'reasoning' }, customTools: false },
})

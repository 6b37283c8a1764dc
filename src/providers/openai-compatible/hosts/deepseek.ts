import { host } from '../host.ts'

/**
 * DeepSeek (API reference, "Create Chat Completion"; guide "JSON Output"): `max_tokens`, no role `developer`, JSON without
 * a schema. `reasoning_content` is its own word; in a tool loop it wants it back.
 */
export const deepseek = host({
  name: 'deepseek',
  baseUrl: 'https://api.deepseek.com',
  serves: ['chat'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens', safety_identifier: null },
    roles: { developer: 'system' },
    jsonSchemas: false,
    customTools: false,
  },
})

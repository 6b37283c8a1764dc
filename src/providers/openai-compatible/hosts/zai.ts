import { host } from '../host.ts'

/**
 * Z.ai's GLM (API reference, "Chat Completion"): `max_tokens`, `user_id`, JSON without a schema, no role `developer`, no
 * `stream_options`: a stream's last chunk has the usage unasked. It has one `tool_choice`, `auto`, and refuses others.
 */
export const zai = host({
  name: 'zai',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  serves: ['chat'],
  quirks: {
    streamOptions: false,
    jsonSchemas: false,
    customTools: false,
    fields: { max_completion_tokens: 'max_tokens', safety_identifier: 'user_id', user: 'user_id' },
    roles: { developer: 'system' },
  },
})

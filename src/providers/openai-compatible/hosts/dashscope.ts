import { host } from '../host.ts'

/**
 * Qwen at Alibaba's Model Studio (its docs, "OpenAI compatible - Chat" and "- Embedding"): `max_tokens`, no role `developer`.
 * Its models for translation alone take no instructions and `translation_options` instead ("Machine translation (Qwen-MT)").
 * This is Singapore; the other regions are other `base_url`s.
 */
export const dashscope = host({
  name: 'dashscope',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  serves: ['chat', 'embeddings'],
  quirks: {
    fields: { max_completion_tokens: 'max_tokens' },
    roles: { developer: 'system' },
    customTools: false,
  },
  modelQuirks: [{ models: /^qwen-mt-/, quirks: { translationOptions: true } }],
})

import { host } from '../host.ts'

/** Fireworks AI (docs, "OpenAI compatibility"): usage comes with every stream, thoughts are `reasoning_content`. */
export const fireworks = host({
  name: 'fireworks',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  serves: ['chat', 'embeddings'],
  quirks: { customTools: false },
})

import { host } from '../host.ts'

/**
 * Moonshot AI's Kimi (API reference, "Chat Completion"): roles `system`, `user`, `assistant`, `tool`. `reasoning_content` is
 * its own word; in a tool loop it wants it back. The Chinese platform is another `base_url`.
 */
export const moonshot = host({
  name: 'moonshot',
  baseUrl: 'https://api.moonshot.ai/v1',
  serves: ['chat'],
  quirks: { roles: { developer: 'system' }, customTools: false },
})

import { KEY, type Target } from '../target.ts'

export const target: Target = {
  provider: 'anthropic',
  source: 'Anthropic API reference, Create a Message',
  isAuthorized: headers => headers['x-api-key'] === KEY && headers['anthropic-version'] !== undefined,
  chat: { format: 'messages', path: '/messages' },
}

import { randomBase62 } from '#lib/base62.ts'
import type { Sides } from './adaptation.ts'
import type { FormatName } from './format.ts'

/** How ids of answers begin in each format. */
const ID_PREFIXES: Readonly<Record<FormatName, string>> = Object.freeze({
  'chat-completions': 'chatcmpl-',
  messages: 'msg_',
  responses: 'resp_',
  'generate-content': '',
})

const ID_DIGITS = 24

/**
 * With an id and a time of our own where the upstream gave none that the client could know for one: SDKs take an answer
 * without them for broken, and an id of another format tells who is behind a channel.
 */
export function named<T extends { readonly id: string; readonly createdAt: number }>(
  answer: T,
  { client, upstream }: Sides,
): T {
  const ownId = client === upstream ? answer.id : ''
  return {
    ...answer,
    id: ownId || ID_PREFIXES[client] + randomBase62(ID_DIGITS),
    createdAt: answer.createdAt || Math.floor(Date.now() / 1000),
  }
}

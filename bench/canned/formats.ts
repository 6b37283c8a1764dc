import { chatCompletionsStream } from './chat-completions.ts'
import { generateContentStream } from './generate-content.ts'
import { messagesStream } from './messages.ts'
import { responsesStream } from './responses.ts'
import type { StreamScript } from './stream.ts'

export const FORMATS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const

export type Format = (typeof FORMATS)[number]

/** A provider of one format: where it is asked, and how it streams. */
interface CannedFormat {
  /** How the paths of its requests end. */
  readonly path: string
  readonly stream: StreamScript
}

export const CANNED: Readonly<Record<Format, CannedFormat>> = {
  'chat-completions': { path: '/chat/completions', stream: chatCompletionsStream },
  messages: { path: '/messages', stream: messagesStream },
  responses: { path: '/responses', stream: responsesStream },
  'generate-content': { path: ':streamGenerateContent', stream: generateContentStream },
}

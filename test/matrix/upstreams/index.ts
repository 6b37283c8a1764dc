import type { Format } from '../conversation.ts'
import { chatCompletions } from './chat-completions.ts'
import type { Dialect } from './dialect.ts'
import { generateContent } from './generate-content.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const DIALECTS: Readonly<Record<Format, Dialect>> = {
  'chat-completions': chatCompletions,
  messages,
  responses,
  'generate-content': generateContent,
}

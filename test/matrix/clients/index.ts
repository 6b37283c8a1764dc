import type { Format } from '../conversation.ts'
import { chatCompletions } from './chat-completions.ts'
import type { Client } from './client.ts'
import { generateContent } from './generate-content.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const CLIENTS: Readonly<Record<Format, Client>> = {
  'chat-completions': chatCompletions,
  messages,
  responses,
  'generate-content': generateContent,
}

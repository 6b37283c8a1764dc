import { chatCompletions } from './chat-completions/index.ts'
import type { FormatName, WireFormat } from './format.ts'
import { generateContent } from './generate-content/index.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'

/** The chat formats by name: what upstreams may speak. */
export const CHAT_FORMATS: ReadonlyMap<string, WireFormat> = new Map<FormatName, WireFormat>(
  [chatCompletions, messages, responses, generateContent].map(format => [format.name, format]),
)

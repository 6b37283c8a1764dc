/** The four chat formats, in the order in which every table of the matrix lists them. */
export const FORMATS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const

export type Format = (typeof FORMATS)[number]

/** What a client wants to say, in no format's words; each client driver says it through its SDK. */
export interface Conversation {
  readonly system: string
  readonly turns: readonly Turn[]
  readonly tools?: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly schema?: AnswerSchema
  readonly stop?: readonly string[]
  readonly effort?: Effort
  /** The provider is told to keep nothing; formats without a word for it keep nothing anyway. */
  readonly isUnstored?: boolean
  /** The name of a beginning that the provider keeps; only generate-content has a field for it. */
  readonly keptPrompt?: string
  readonly maxTokens: number
}

export type Turn =
  | { readonly by: 'user'; readonly text: string; readonly images?: readonly Image[] }
  /** A former answer. */
  | { readonly by: 'model'; readonly text: string }
  /** A former answer as the SDK gave it ({@link Answer.turn}), and what it said. */
  | { readonly by: 'model'; readonly echo: Answer }
  /** Results of the calls in the turn before, in the calls' order. */
  | { readonly by: 'tools'; readonly results: readonly string[] }

export type Image =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** `{ name }`: this tool and no other. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

export interface AnswerSchema {
  readonly name: string
  readonly schema: Readonly<Record<string, unknown>>
}

export type Effort = 'low' | 'medium' | 'high'

export interface ToolCall {
  readonly name: string
  readonly arguments: unknown
}

/** Why an answer ended, in no format's words. */
export type StopReason = 'end' | 'calls' | 'length' | 'context' | 'sequence' | 'refusal'

/** Counts as a format tells them; totals include their parts. `undefined`: not told. */
export interface Usage {
  readonly input?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly cacheWrite5m?: number | undefined
  readonly cacheWrite1h?: number | undefined
  readonly output?: number | undefined
  readonly reasoning?: number | undefined
}

/** What a client read through its SDK. */
export interface Answer {
  readonly text: string
  /** What the model declined with, where the format sets that apart from its words. */
  readonly refusal: string
  /** The readable thoughts. */
  readonly thinking: string
  /** Seals of thoughts and calls, in their order. */
  readonly seals: readonly string[]
  readonly calls: readonly (ToolCall & { readonly id: string })[]
  /** In the format's own words. */
  readonly stop: string
  readonly usage: Usage
  readonly model: string
  /** The assistant's turn as the SDK gave it, for the next request. */
  readonly turn: unknown
}

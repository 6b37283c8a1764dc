/**
 * A chat request in no format's words. Each format decodes into it and encodes from it, so N formats need 2N request
 * codecs and not N². What a format has and this vocabulary lacks rides in `extensions[format]` or in an `opaque` part:
 * the same format gets it back, another one drops it with a warning, never silently.
 */
export interface Call {
  /** The public model id. */
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools?: readonly Tool[] | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly parallelToolCalls?: boolean | undefined
  readonly output?: OutputFormat | undefined
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly seed?: number | undefined
  readonly stop?: readonly string[] | undefined
  /** How many answers (`n`, `candidateCount`). */
  readonly choices?: number | undefined
  /** Wanted, with this many alternatives a token (0 = only the chosen token's). */
  readonly topLogprobs?: number | undefined
  readonly reasoning?: ReasoningControl | undefined
  readonly verbosity?: string | undefined
  /** Kinds of output wanted beside text: `audio`, `image`. */
  readonly modalities?: readonly string[] | undefined
  readonly audioOutput?: { readonly voice: unknown; readonly format: string } | undefined
  /** The user's text is to be translated, and nothing else. */
  readonly translation?: Translation | undefined
  readonly cacheKey?: string | undefined
  /** The caller's own end user, for abuse tracing. */
  readonly endUser?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly serviceTier?: string | undefined
  readonly isStream: boolean
  /** In a stream: send the usage where the format has an option for it. */
  readonly wantsStreamUsage: boolean
  readonly extensions: Extensions
}

/** Fields of one format that have no neutral meaning, by format name: of a whole call or answer, or of one part. */
export type Extensions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** Parts keep their order. Tool results stand in messages of role `tool`, several of one turn in one message. */
export interface Message {
  readonly role: Role
  readonly parts: readonly Part[]
  readonly name?: string | undefined
}

export type Part =
  | TextPart
  | RefusalPart
  | ImagePart
  | AudioPart
  | VideoPart
  | DocumentPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | OpaquePart

/** What only one format knows about a part or a tool, by format name: it comes back out for the same format. */
export interface Extended {
  readonly extensions?: Extensions | undefined
}

export interface TextPart extends Extended {
  readonly type: 'text'
  readonly text: string
  readonly citations?: readonly UrlCitation[] | undefined
  readonly cache?: CacheBreakpoint | undefined
  /** A vendor's seal on what was said, as on {@link ReasoningPart}. */
  readonly signature?: string | undefined
}

/** The model declined, in its own words. */
export interface RefusalPart extends Extended {
  readonly type: 'refusal'
  readonly text: string
}

export interface ImagePart extends Extended {
  readonly type: 'image'
  readonly source: Source
  readonly detail?: string | undefined
  readonly cache?: CacheBreakpoint | undefined
}

export interface AudioPart extends Extended {
  readonly type: 'audio'
  readonly source: Source
  /** Codec as chat-completions names it: `wav`, `mp3`. */
  readonly format?: string | undefined
  readonly transcript?: string | undefined
}

export interface VideoPart extends Extended {
  readonly type: 'video'
  readonly source: Source
}

export interface DocumentPart extends Extended {
  readonly type: 'document'
  readonly source: Source
  readonly filename?: string | undefined
  readonly cache?: CacheBreakpoint | undefined
}

/** What the model thought aloud. `signature` and `encrypted` are the vendor's seals: echoed unchanged or not at all. */
export interface ReasoningPart extends Extended {
  readonly type: 'reasoning'
  readonly text: string
  readonly signature?: string | undefined
  readonly encrypted?: string | undefined
}

export interface ToolCallPart extends Extended {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** `function`: JSON text, possibly empty or broken, as the model wrote it. `custom`: free text. */
  readonly arguments: string
  readonly kind: 'function' | 'custom'
  readonly signature?: string | undefined
  readonly cache?: CacheBreakpoint | undefined
}

export interface ToolResultPart extends Extended {
  readonly type: 'tool-result'
  readonly callId: string
  readonly parts: readonly Part[]
  readonly name?: string | undefined
  readonly isError?: boolean | undefined
  readonly cache?: CacheBreakpoint | undefined
}

/** A part that only `format` understands, verbatim. */
export interface OpaquePart {
  readonly type: 'opaque'
  readonly format: string
  readonly value: unknown
}

/** Where the bytes of a medium are; what is not inline tells its media type only where the caller did. */
export type Source =
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string | undefined }
  | { readonly kind: 'base64'; readonly mediaType: string | undefined; readonly data: string }
  | { readonly kind: 'file'; readonly id: string; readonly mediaType?: string | undefined }

export interface UrlCitation {
  readonly url: string
  readonly title?: string | undefined
  readonly startIndex?: number | undefined
  readonly endIndex?: number | undefined
}

/** The prompt up to here may be cached by the provider. */
export interface CacheBreakpoint {
  readonly ttl?: '5m' | '1h' | undefined
}

export type Tool =
  | (Extended & {
      readonly kind: 'function'
      readonly name: string
      readonly description?: string | undefined
      /** A JSON schema; `undefined` is a function without arguments. */
      readonly parameters?: unknown
      readonly strict?: boolean | undefined
      readonly cache?: CacheBreakpoint | undefined
    })
  | (Extended & {
      /** Its calls are free text, and no JSON. */
      readonly kind: 'custom'
      readonly name: string
      readonly description?: string | undefined
      /** What the text must keep to; `undefined` is any text. */
      readonly grammar?: Grammar | undefined
      readonly cache?: CacheBreakpoint | undefined
    })
  | { readonly kind: 'opaque'; readonly format: string; readonly value: unknown }

export interface Grammar {
  /** `lark` or `regex`. */
  readonly syntax: string
  readonly definition: string
}

export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' }
  | { readonly mode: 'tool'; readonly name: string }
  | { readonly mode: 'subset'; readonly names: readonly string[]; readonly isRequired: boolean }

export type OutputFormat =
  | { readonly type: 'text' | 'json' }
  | {
      readonly type: 'json-schema'
      readonly name?: string | undefined
      readonly description?: string | undefined
      readonly schema: unknown
      readonly strict?: boolean | undefined
    }

/** Languages as the caller names them. */
export interface Translation {
  readonly sourceLanguage?: string | undefined
  readonly targetLanguage: string
}

export interface ReasoningControl {
  /** `none minimal low medium high xhigh max`; which of them work is the model's affair. */
  readonly effort?: string | undefined
  readonly budgetTokens?: number | undefined
  /** The caller wants to read what the model thought. */
  readonly isShown?: boolean | undefined
}

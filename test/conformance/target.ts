import type { IncomingHttpHeaders } from 'node:http'
import type { Format } from '../matrix/conversation.ts'
import type { Asked } from '../matrix/upstreams/asked.ts'
import type { Json } from '../matrix/upstreams/dialect.ts'
import type { StreamFraming } from '../matrix/upstreams/provider.ts'

/** A provider as its documentation describes it, for the part of it that this suite plays. One file in `targets/` each. */
export interface Target {
  /** The provider's name in the registry. */
  readonly provider: string
  /** Which of its APIs, where it has more than one and this is not the first. */
  readonly api?: string
  /** What the documentation was that says so. */
  readonly source: string
  /** More of the channel's configuration, as YAML lines. By default its address and a key. */
  channel?(url: string): Readonly<Record<string, unknown>>
  /** Whether the request shows the channel's key ({@link KEY}) as the provider wants it. */
  isAuthorized(headers: IncomingHttpHeaders): boolean
  /** A token in place of a key, which is asked for first. */
  giveToken?(path: string, headers: IncomingHttpHeaders): Json
  readonly chat?: ChatTarget
  readonly embeddings?: EmbeddingsTarget
}

export interface ChatTarget {
  /** The format whose fixtures it answers from. */
  readonly format: Format
  /** Below the base URL, `{model}` for the model. */
  readonly path: string
  readonly streamPath?: string
  /** Cases of the suite that it does not claim, and why. */
  readonly lacks?: Readonly<Partial<Record<string, string>>>
  /** Requests that it answers 400 to. */
  readonly refuses?: Refusals
  /** What it must find in a request with all that OpenAI's clients may say (`LADEN` in `laden.ts`). */
  readonly finds?: Json
  /** The request in the words of its format, where it has others. @param path as at the format's own provider */
  read?(body: Json, path: string): Asked
  /** What its streams travel in, where that is not server-sent events. */
  readonly framing?: StreamFraming
  /** What it makes of an error that the format's own provider words thus. */
  say?(error: Json): Json
  /** Where aimock serves the same, if not where the format's own provider does. */
  mockPath?(path: string): string
}

/** Names that a host does not know, by its documentation. */
export interface Refusals {
  readonly fields?: readonly string[]
  readonly messageFields?: readonly string[]
  readonly roles?: readonly string[]
  /** Of `response_format`. */
  readonly outputs?: readonly string[]
  readonly tools?: readonly string[]
  readonly toolIds?: RegExp
}

export interface EmbeddingsTarget {
  readonly path: string
  /** What it must find in a request for two texts with 2 dimensions. */
  readonly finds: Json
  readonly refuses?: readonly string[]
  /** Its answer with these vectors, for which it counts 7 tokens. */
  answer(vectors: readonly (readonly number[])[], body: Json): Json
}

/** The target's own name, in which it is configured. */
export function nameOf({ provider, api }: Pick<Target, 'provider' | 'api'>): string {
  return api === undefined ? provider : `${provider}-${api}`
}

export const KEY = 'sk-upstream-secret'

export function isBearer({ authorization }: IncomingHttpHeaders): boolean {
  return authorization === `Bearer ${KEY}`
}

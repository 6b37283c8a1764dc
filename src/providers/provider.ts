import type { Operation } from '#core/work.ts'

/** A vendor's API, as data. */
export interface Provider {
  readonly name: string
  /** Used by channels that give no address of their own; operation paths are appended. */
  readonly baseUrl: string
  /** Headers that present a key; none for hosts that ask for none. */
  auth(apiKey: string | undefined): Record<string, string>
  /** A path that answers a GET at no cost and only to a valid key; for `tollgate doctor`. */
  readonly probePath: string
  readonly operations: Readonly<Partial<Record<Operation, Endpoint>>>
}

export interface Endpoint {
  /** Wire format spoken there. */
  readonly format: string
  readonly path: string
}

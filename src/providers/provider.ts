import type { Operation, Quirks } from '#core/work.ts'

/** A vendor's API, as data. */
export interface Provider {
  readonly name: string
  /** Used by channels that give no address of their own; operation paths are appended. */
  readonly baseUrl: string
  /** Headers that present a key; none for hosts that ask for none. */
  auth(apiKey: string | undefined): Record<string, string>
  /** A path that answers a GET at no cost and only to a valid key; for `tollgate doctor`. */
  readonly probePath: string
  /** Where each operation is served: the endpoint of first choice first. */
  readonly operations: Readonly<Partial<Record<Operation, readonly Endpoint[]>>>
  /** Where its hosts differ from the formats that they speak; what a channel says of its own host comes first. */
  readonly quirks?: Quirks
}

export interface Endpoint {
  /** Wire format spoken there. */
  readonly format: string
  /** `{model}` stands for the upstream's model id, where the format names the model in its URL. */
  readonly path: string
  /** Where streams are served, if not at `path`. */
  readonly streamPath?: string
  /** Hosts that imitate this provider lack it, so channels with an address of their own do without. */
  readonly isRare?: true
}

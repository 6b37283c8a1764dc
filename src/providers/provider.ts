import type { TProperties } from 'typebox'
import type { Fault } from '#core/fault.ts'
import type { Operation, Quirks } from '#core/work.ts'
import type { Framing } from '#wire/framing.ts'

/** A vendor's API, as data. */
export interface Provider {
  readonly name: string
  /** Used by channels that give no address of their own; operation paths are appended. */
  readonly baseUrl: string | BySettings<string>
  /** What channels of this provider may say beyond what all channels may. */
  readonly settings?: TProperties
  /** What a schema cannot see in a channel as it was declared. @returns what is wrong with it, and what to do */
  readonly check?: BySettings<string | undefined>
  /** How a channel presents a key, or whatever its settings hold in place of one; called once for each. */
  auth(apiKey: string | undefined, settings: Settings, watcher: CredentialWatcher): Authorization
  /** A path that answers a GET at no cost and only to a valid key, for `tollgate doctor`; absent where there is none. */
  readonly probePath?: string | BySettings<string>
  /** Where each operation is served: the endpoint of first choice first. */
  readonly operations: Readonly<Partial<Record<Operation, readonly Endpoint[]>>>
  /** Where its hosts differ from the formats that they speak; what a channel says of its own host comes first. */
  readonly quirks?: Quirks
  /** Where some of their models differ from the others, by their upstream ids. */
  readonly modelQuirks?: readonly { readonly models: RegExp; readonly quirks: Quirks }[]
}

export interface Endpoint {
  /** Wire format spoken there. */
  readonly format: string
  /**
   * `{model}` stands for the upstream's model id, where the format names the model in its URL. `undefined`: not there
   * for channels with these settings.
   */
  readonly path: string | BySettings<string | undefined>
  /** Where streams are served, if not at `path`. */
  readonly streamPath?: string | BySettings<string>
  /** Hosts that imitate this provider lack it, so channels with an address of their own do without. */
  readonly isRare?: true
  /** Models that are served there, by their upstream ids, where one host serves different ones in different formats. */
  readonly models?: RegExp
  /** What streams are cut into; server-sent events unless given. */
  readonly framing?: Framing
  /** Puts a request of the format as this host wants it, where the host departs from the format. */
  readonly adapt?: Adapt
  /** What an error status means, where the host has its own words for errors. */
  readonly decodeFault?: (status: number, bytes: Buffer) => Fault
}

/** A channel's own settings, which its provider's schema has checked. */
export type Settings = Readonly<Record<string, unknown>>

/** Written for the settings of one provider, and called with those of its channels only. */
export type BySettings<T> = { of(settings: Settings): T }['of']

export type Headers = Readonly<Record<string, string>>

/** The part of a request that is the exchange's, and what of it the upstream is not told. */
export interface Message {
  readonly body: Uint8Array
  readonly headers: Headers
  readonly warnings: readonly string[]
}

export type Adapt = { of(message: Message, settings: Settings): Message }['of']

/** A request that lacks only its credential. */
export interface UnauthorizedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body?: Uint8Array
}

/**
 * What presents a credential: headers that are always the same, or what makes them for each request. A promise comes
 * only where something has to be fetched first.
 */
export type Authorization = Headers | ((request: UnauthorizedRequest) => Headers | Promise<Headers>)

/** Told when a credential that expires cannot be renewed. */
export interface CredentialWatcher {
  failed(error: unknown): void
}

/** The value for a channel's settings, where it depends on them. */
export function bySettings<T>(value: T | BySettings<T>, settings: Settings): T {
  return typeof value === 'function' ? (value as BySettings<T>)(settings) : value
}

/** Where a channel's paths begin. */
export function baseUrlOf(
  provider: Provider,
  { baseUrl, settings }: { readonly baseUrl: string | undefined; readonly settings: Settings },
): string {
  return (baseUrl ?? bySettings(provider.baseUrl, settings)).replace(/\/+$/, '')
}

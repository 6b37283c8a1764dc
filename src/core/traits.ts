/** What a model can or cannot do, of the free words that a configuration may use, that requests can ask for. */
export const CAPABILITIES = ['tools', 'vision', 'json_schema', 'audio', 'reasoning'] as const

export type Capability = (typeof CAPABILITIES)[number]

/** What a request asks of whoever serves it, beyond its size. */
export interface RequestTraits {
  readonly needs: readonly Capability[]
  /** The same for every request of one conversation: a key that the caller gave it, or how it begins. */
  conversation(): string
  /** Long enough to be worth a provider's cache, or named for one. */
  readonly isCacheable: boolean
  /** Holds thoughts that only the account which sealed them can open. */
  readonly isSealed: boolean
}

import type { Channel } from '#catalog/catalog.ts'
import type { Operation } from '#core/work.ts'
import type { Endpoint, Provider } from '#providers/provider.ts'

/** A provider's endpoint as one channel reaches it. */
export interface ChannelEndpoint extends Endpoint {
  readonly url: URL
  readonly provider: Provider
}

/**
 * Where channels serve operations, worked out once a channel, and the turn of each channel's keys. Channels are
 * replaced when the configuration is read anew; what was kept for the old ones goes with them.
 */
export class Endpoints {
  readonly #providers: ReadonlyMap<string, Provider>
  readonly #byChannel = new WeakMap<Channel, Map<Operation, ChannelEndpoint | undefined>>()
  readonly #turns = new WeakMap<Channel, number>()

  constructor(providers: ReadonlyMap<string, Provider>) {
    this.#providers = providers
  }

  /** `undefined`: the channel's provider has no such endpoint. */
  find(channel: Channel, operation: Operation): ChannelEndpoint | undefined {
    const known = this.#byChannel.get(channel) ?? new Map<Operation, ChannelEndpoint | undefined>()
    this.#byChannel.set(channel, known)
    if (!known.has(operation)) known.set(operation, this.#resolve(channel, operation))
    return known.get(operation)
  }

  /** The channel's keys in turn. */
  nextKey(channel: Channel): string | undefined {
    const { apiKeys } = channel
    if (apiKeys.length < 2) return apiKeys[0]
    const turn = this.#turns.get(channel) ?? 0
    this.#turns.set(channel, turn + 1)
    return apiKeys[turn % apiKeys.length]
  }

  #resolve(channel: Channel, operation: Operation): ChannelEndpoint | undefined {
    const provider = this.#providers.get(channel.provider)
    const endpoint = provider?.operations[operation]
    if (!provider || !endpoint) return undefined
    const base = (channel.baseUrl ?? provider.baseUrl).replace(/\/+$/, '')
    return { ...endpoint, provider, url: new URL(base + endpoint.path) }
  }
}

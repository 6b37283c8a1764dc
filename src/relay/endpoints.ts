import type { Channel } from '#catalog/catalog.ts'
import type { Operation, Quirks } from '#core/work.ts'
import type { Endpoint, Provider } from '#providers/provider.ts'

/** A provider's endpoint as one channel reaches it. */
export interface ChannelEndpoint {
  readonly format: string
  readonly provider: Provider
  readonly quirks: Quirks
  url(upstreamModel: string, isStream: boolean): URL
}

/**
 * Where channels serve operations, worked out once a channel. Channels are replaced when the configuration is read
 * anew; what was kept for the old ones goes with them.
 */
export class Endpoints {
  readonly #providers: ReadonlyMap<string, Provider>
  readonly #byChannel = new WeakMap<Channel, Map<Operation, readonly ChannelEndpoint[]>>()

  constructor(providers: ReadonlyMap<string, Provider>) {
    this.#providers = providers
  }

  /** The endpoint that speaks `format`, or else the provider's first; `undefined`: it has none for the operation. */
  find(channel: Channel, operation: Operation, format: string): ChannelEndpoint | undefined {
    const endpoints = this.#endpointsOf(channel, operation)
    return endpoints.find(endpoint => endpoint.format === format) ?? endpoints[0]
  }

  #endpointsOf(channel: Channel, operation: Operation): readonly ChannelEndpoint[] {
    const byOperation = this.#byChannel.get(channel) ?? new Map<Operation, readonly ChannelEndpoint[]>()
    this.#byChannel.set(channel, byOperation)
    const endpoints = byOperation.get(operation) ?? this.#resolve(channel, operation)
    byOperation.set(operation, endpoints)
    return endpoints
  }

  #resolve(channel: Channel, operation: Operation): readonly ChannelEndpoint[] {
    const provider = this.#providers.get(channel.provider)
    const endpoints = provider?.operations[operation]
    if (!provider || !endpoints) return []
    const quirks = quirksOf(provider, channel)
    const base = (channel.baseUrl ?? provider.baseUrl).replace(/\/+$/, '')
    return endpoints
      .filter(endpoint => isSpoken(channel, endpoint))
      .map(endpoint => ({ format: endpoint.format, provider, quirks, url: urlBuilder(base, endpoint) }))
  }
}

function isSpoken({ formats, baseUrl }: Channel, { format, isRare }: Endpoint): boolean {
  return formats ? formats.includes(format) : !isRare || baseUrl === undefined
}

/** What is known of the provider's hosts, and over it what the operator says of this one. */
function quirksOf({ quirks: usual = {} }: Provider, { quirks: own }: Channel): Quirks {
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  return {
    ...usual,
    ...said,
    fields: { ...usual.fields, ...own.fields },
    messageFields: { ...usual.messageFields, ...own.messageFields },
    roles: { ...usual.roles, ...own.roles },
  }
}

/** Addresses that name no model are made once. */
function urlBuilder(base: string, { path, streamPath = path }: Endpoint): ChannelEndpoint['url'] {
  const [whole, stream] = [base + path, base + streamPath].map(text => {
    const url = new URL(text)
    if (!text.includes('{model}')) return () => url
    return (model: string) => new URL(text.replace('{model}', encodeURIComponent(model)))
  }) as [(model: string) => URL, (model: string) => URL]
  return (upstreamModel, isStream) => (isStream ? stream : whole)(upstreamModel)
}

import type { Channel, Credential } from '#catalog/catalog.ts'
import type { Operation, Quirks, Work } from '#core/work.ts'
import {
  type Authorization,
  baseUrlOf,
  bySettings,
  type Endpoint,
  type Headers,
  type Message,
  type Provider,
  type UnauthorizedRequest,
} from '#providers/provider.ts'
import type { Framing } from '#wire/framing.ts'

/** A provider's endpoint as one channel reaches it. */
export interface ChannelEndpoint extends Pick<Endpoint, 'format' | 'decodeFault'> {
  readonly framing: Framing
  readonly adapt?: (message: Message) => Message
  /** Requests and answers are as the format says. */
  readonly isPlain: boolean
  /** Models that it serves; `undefined`: all that the channel is asked for. */
  readonly models: RegExp | undefined
  url(upstreamModel: string, isStream: boolean): URL
  quirks(upstreamModel: string): Quirks
}

export interface EndpointsDeps {
  readonly providers: ReadonlyMap<string, Provider>
  /** Told when the credential of a channel cannot be fetched or renewed. */
  onCredentialFailure(error: unknown, channelId: string): void
}

/**
 * Where channels serve operations, worked out once a channel. Channels are replaced when the configuration is read
 * anew; what was kept for the old ones goes with them.
 */
export class Endpoints {
  readonly #deps: EndpointsDeps
  readonly #byChannel = new WeakMap<Channel, Map<Operation, readonly ChannelEndpoint[]>>()
  readonly #authorizations = new WeakMap<Credential, Authorization>()

  constructor(deps: EndpointsDeps) {
    this.#deps = deps
  }

  /**
   * The endpoint that speaks the client's format, or else the provider's first; `undefined`: it has none for the
   * operation or for the model.
   */
  find(
    channel: Channel,
    { operation, format }: Pick<Work, 'operation' | 'format'>,
    upstreamModel: string,
  ): ChannelEndpoint | undefined {
    const endpoints = this.#endpointsOf(channel, operation).filter(({ models }) => models?.test(upstreamModel) ?? true)
    return endpoints.find(endpoint => endpoint.format === format) ?? endpoints[0]
  }

  /** The headers of a request with the channel's own and one of its credentials among them. */
  authorize(channel: Channel, credential: Credential, request: UnauthorizedRequest): Headers | Promise<Headers> {
    const authorization = this.#authorizations.get(credential) ?? this.#authorizationOf(channel, credential)
    const presented = typeof authorization === 'function' ? authorization(request) : authorization
    const withCredential = (headers: Headers) => ({ ...channel.headers, ...headers, ...request.headers })
    return presented instanceof Promise ? presented.then(withCredential) : withCredential(presented)
  }

  /** A credential without a key presents what its channel's settings hold, if anything. */
  #authorizationOf(channel: Channel, credential: Credential): Authorization {
    const { providers, onCredentialFailure } = this.#deps
    const provider = providers.get(channel.provider) as Provider
    const watcher = { failed: (error: unknown) => onCredentialFailure(error, channel.id) }
    const authorization = provider.auth(credential.key, channel.settings, watcher)
    this.#authorizations.set(credential, authorization)
    return authorization
  }

  #endpointsOf(channel: Channel, operation: Operation): readonly ChannelEndpoint[] {
    const byOperation = this.#byChannel.get(channel) ?? new Map<Operation, readonly ChannelEndpoint[]>()
    this.#byChannel.set(channel, byOperation)
    const endpoints = byOperation.get(operation) ?? this.#resolve(channel, operation)
    byOperation.set(operation, endpoints)
    return endpoints
  }

  #resolve(channel: Channel, operation: Operation): readonly ChannelEndpoint[] {
    const provider = this.#deps.providers.get(channel.provider)
    const endpoints = provider?.operations[operation]
    if (!provider || !endpoints) return []
    const base = baseUrlOf(provider, channel)
    const quirks = quirksFinder(provider, channel)
    return endpoints
      .filter(endpoint => isSpoken(channel, endpoint))
      .flatMap(endpoint => {
        const path = bySettings(endpoint.path, channel.settings)
        return path === undefined ? [] : toChannelEndpoint(channel, endpoint, { base, path, quirks })
      })
  }
}

function isSpoken({ formats, baseUrl }: Channel, { format, isRare }: Endpoint): boolean {
  return formats ? formats.includes(format) : !isRare || baseUrl === undefined
}

/** Worked out once for the models that differ, and for all others. */
function quirksFinder({ quirks = {}, modelQuirks = [] }: Provider, channel: Channel): ChannelEndpoint['quirks'] {
  const usual = quirksOf(quirks, channel)
  const special = modelQuirks.map(each => ({
    models: each.models,
    quirks: quirksOf({ ...quirks, ...each.quirks }, channel),
  }))
  return model => special.find(({ models }) => models.test(model))?.quirks ?? usual
}

/** What is known of the provider's hosts, and over it what the operator says of this one. */
function quirksOf(usual: Quirks, { quirks: own }: Channel): Quirks {
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  return {
    ...usual,
    ...said,
    fields: { ...usual.fields, ...own.fields },
    messageFields: { ...usual.messageFields, ...own.messageFields },
    roles: { ...usual.roles, ...own.roles },
  }
}

function toChannelEndpoint(
  { formats, settings }: Channel,
  endpoint: Endpoint,
  { base, path, quirks }: { base: string; path: string; quirks: ChannelEndpoint['quirks'] },
): ChannelEndpoint {
  const { format, adapt, decodeFault, framing = 'server-sent-events', models } = endpoint
  return {
    format,
    quirks,
    framing,
    isPlain: !adapt && !decodeFault && framing === 'server-sent-events',
    // A channel that says which formats it speaks is taken at its word.
    models: formats ? undefined : models,
    url: urlBuilder(base + path, base + bySettings(endpoint.streamPath ?? path, settings)),
    ...(adapt && { adapt: message => adapt(message, settings) }),
    ...(decodeFault && { decodeFault }),
  }
}

/** Addresses that name no model are made once. */
function urlBuilder(wholeUrl: string, streamUrl: string): ChannelEndpoint['url'] {
  const [whole, stream] = [wholeUrl, streamUrl].map(text => {
    const url = new URL(text)
    if (!text.includes('{model}')) return () => url
    return (model: string) => new URL(text.replace('{model}', encodeSegment(model)))
  }) as [(model: string) => URL, (model: string) => URL]
  return (upstreamModel, isStream) => (isStream ? stream : whole)(upstreamModel)
}

/** An `@` stands for itself in a path (RFC 3986, 3.3), as in the versions of models on Vertex AI. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replaceAll('%40', '@')
}

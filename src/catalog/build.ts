import type { Catalog, Channel, Credential, Model, Offer } from './catalog.ts'
import { BUNDLED_BOOK } from './price-book.ts'
import { type PriceSource, priceOffer } from './pricing.ts'
import { ChannelConfig, type CredentialConfig, type ModelConfig, type OfferConfig } from './schema.ts'

/** A mistake in the declared channels or models: where, and what to do about it. */
export interface CatalogProblem {
  /** Path into the configuration: `['models', 2, 'offers', 0, 'channel']`. */
  readonly path: readonly (string | number)[]
  readonly message: string
  /** Whose price it is about. */
  readonly offer?: { readonly model: string; readonly channel: string }
}

/** Generous where silence is normal: reasoning models think for minutes before and between bytes. */
export const TIMEOUTS_DEFAULT: Channel['timeouts'] = { connectMs: 5_000, firstByteMs: 120_000, idleMs: 120_000 }

export interface CatalogConfig {
  readonly channels: readonly ChannelConfig[]
  readonly models: readonly ModelConfig[]
}

/** The adapters that exist, by name. */
export type ProviderAddresses = ReadonlyMap<string, { readonly baseUrl: string | ((settings: Settings) => string) }>

type Settings = Channel['settings']

export interface BuiltCatalog {
  readonly catalog: Catalog
  /** Every model as far as it could be read, also those that the snapshot does not show. */
  readonly models: readonly Model[]
  readonly problems: readonly CatalogProblem[]
}

/**
 * Checks what a schema cannot, and builds the snapshot.
 *
 * @returns every problem found; the catalog is for use when there is none
 */
export function buildCatalog(
  config: CatalogConfig,
  providers: ProviderAddresses,
  source: PriceSource = { book: BUNDLED_BOOK, at: new Date() },
): BuiltCatalog {
  const problems: CatalogProblem[] = []
  const channels = new Map<string, Channel>()
  for (const [i, channel] of config.channels.entries()) {
    const path = ['channels', i]
    if (channels.has(channel.id))
      problems.push({ path: [...path, 'id'], message: `channel "${channel.id}" is declared twice` })
    if (!providers.has(channel.provider)) {
      const known = [...providers.keys()].toSorted().join(', ')
      problems.push({
        path: [...path, 'provider'],
        message: `there is no provider "${channel.provider}"; known: ${known}`,
      })
    }
    if (channel.base_url !== undefined && !URL.canParse(channel.base_url)) {
      problems.push({ path: [...path, 'base_url'], message: `the base_url of channel "${channel.id}" is not a URL` })
    }
    channels.set(channel.id, fromChannelConfig(channel))
  }
  const models: Model[] = []
  const shown = new Map<string, Model>()
  const seen = new Set<string>()
  for (const [i, model] of config.models.entries()) {
    const path = ['models', i]
    if (seen.has(model.id)) problems.push({ path: [...path, 'id'], message: `model "${model.id}" is declared twice` })
    seen.add(model.id)
    if (model.released !== undefined && !isDay(model.released)) {
      problems.push({ path: [...path, 'released'], message: `there is no day ${model.released}` })
    }
    const built = fromModelConfig(model, fromOffers(model, { channels, providers, source }, path, problems))
    models.push(built)
    if ((model.visibility ?? 'public') === 'public') shown.set(model.id, built)
  }
  return { catalog: { channels, models: shown }, models, problems }
}

function fromChannelConfig(config: ChannelConfig): Channel {
  const { timeout = {}, quirks = {} } = config
  return {
    id: config.id,
    name: config.name ?? config.id,
    provider: config.provider,
    baseUrl: config.base_url,
    credentials: fromApiKeys(config.api_key),
    headers: Object.fromEntries(
      Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    formats: config.formats,
    tier: config.tier ?? 'official',
    timeouts: {
      connectMs: timeout.connect ? parseDurationMs(timeout.connect) : TIMEOUTS_DEFAULT.connectMs,
      firstByteMs: timeout.first_byte ? parseDurationMs(timeout.first_byte) : TIMEOUTS_DEFAULT.firstByteMs,
      idleMs: timeout.idle ? parseDurationMs(timeout.idle) : TIMEOUTS_DEFAULT.idleMs,
    },
    quirks: {
      streamOptions: quirks.stream_options,
      encryptedReasoning: quirks.encrypted_reasoning,
      reasoningBudget: quirks.reasoning_budget,
      sampling: quirks.sampling,
      functionIds: quirks.function_ids,
      thinkingLevels: quirks.thinking_levels,
      placeholderSignatures: quirks.placeholder_signatures,
      jsonSchemas: quirks.json_schemas,
      customTools: quirks.custom_tools,
      shortToolIds: quirks.short_tool_ids,
      fields: quirks.fields,
      messageFields: quirks.message_fields,
      roles: quirks.roles,
      translationOptions: quirks.translation_options,
    },
    settings: Object.fromEntries(Object.entries(config).filter(([key]) => !(key in ChannelConfig.properties))),
  }
}

function fromApiKeys(config: ChannelConfig['api_key']): Channel['credentials'] {
  const [first, ...others] = config === undefined ? [] : [config].flat().map(toCredential)
  return [first ?? toCredential({ key: undefined }, 0), ...others]
}

/** A host that asks for no key has one account as well. */
type AnyCredentialConfig = Omit<CredentialConfig, 'key'> & { readonly key: string | undefined }

function toCredential(config: string | AnyCredentialConfig, index: number): Credential {
  const given: AnyCredentialConfig = typeof config === 'string' ? { key: config } : config
  return {
    id: String(index + 1),
    key: given.key,
    weight: given.weight ?? 1,
    requestsPerMinute: given.requests_per_minute,
    concurrency: given.concurrency,
  }
}

function fromModelConfig(config: ModelConfig, offers: readonly Offer[]): Model {
  return {
    id: config.id,
    logicalModel: config.logical_model ?? config.id,
    vendor: config.vendor,
    name: config.name,
    description: config.description,
    createdAt: config.released === undefined ? 0 : Date.parse(config.released) / 1000,
    scene: config.scene,
    recommendedFor: config.recommended_for ?? [],
    capabilities: config.capabilities ?? [],
    tags: config.tags ?? [],
    limits: { contextLength: config.context_length, maxOutputTokens: config.max_output_tokens },
    offers,
  }
}

interface Surroundings {
  readonly channels: ReadonlyMap<string, Channel>
  readonly providers: ProviderAddresses
  readonly source: PriceSource
}

function fromOffers(
  model: ModelConfig,
  { channels, providers, source }: Surroundings,
  modelPath: readonly (string | number)[],
  problems: CatalogProblem[],
): Offer[] {
  return model.offers.flatMap((offer, i) => {
    const path = [...modelPath, 'offers', i]
    const channel = channels.get(offer.channel)
    if (!channel) {
      const message = `offer names channel "${offer.channel}", which is not declared`
      problems.push({ path: [...path, 'channel'], message })
      return []
    }
    const address = addressOf(channel, providers)
    const upstreamModel = offer.upstream_model ?? model.id
    const unpriced = { model, channelId: channel.id, address, upstreamModel, own: offer.price }
    const priced = priceOffer(unpriced, source)
    if ('price' in priced) {
      const { price, origin } = priced
      return [toOffer(model, offer, { channel, upstreamModel, price, priceOrigin: origin })]
    }
    const about = { model: model.id, channel: channel.id }
    problems.push(...priced.problems.map(message => ({ path, message, offer: about })))
    return []
  })
}

function toOffer(
  model: ModelConfig,
  offer: OfferConfig,
  over: Pick<Offer, 'channel' | 'upstreamModel' | 'price' | 'priceOrigin'>,
): Offer {
  const capabilities = offer.capabilities ?? model.capabilities ?? []
  return {
    ...over,
    weight: offer.weight,
    // An empty list says as little as none.
    capabilities: capabilities.length > 0 ? new Set(capabilities) : undefined,
    contextLength: offer.context_length ?? model.context_length,
  }
}

/** Where a channel reaches its provider; `undefined`: there is no such provider. */
export function addressOf({ baseUrl, provider, settings }: Channel, providers: ProviderAddresses): string | undefined {
  const usual = providers.get(provider)?.baseUrl
  return baseUrl ?? (typeof usual === 'function' ? usual(settings) : usual)
}

/** `Date.parse` takes the 31st of any month for a day. */
function isDay(text: string): boolean {
  const ms = Date.parse(text)
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text)
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** `5s` → 5000; the schema has checked the form. */
export function parseDurationMs(text: string): number {
  const [, count = '0', unit = 'ms'] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  return Number(count) * (UNIT_MS[unit] ?? 1)
}

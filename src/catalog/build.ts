import type { Scene } from '#core/scene.ts'
import type { Catalog, Channel, Model, Offer } from './catalog.ts'
import { type Price, parsePrice, type RateName } from './price.ts'
import { ChannelConfig, type ModelConfig, type PriceConfig } from './schema.ts'

/** A mistake in the declared channels or models: where, and what to do about it. */
export interface CatalogProblem {
  /** Path into the configuration: `['models', 2, 'offers', 0, 'channel']`. */
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Generous where silence is normal: reasoning models think for minutes before and between bytes. */
const TIMEOUTS_DEFAULT = { connectMs: 5_000, firstByteMs: 120_000, idleMs: 120_000 }

/** What a price must at least say for a kind of work, unless it charges per request. */
const NEEDED_RATES: Partial<Record<Scene, readonly RateName[]>> = {
  chat: ['input', 'output'],
  embedding: ['input'],
}

export interface CatalogConfig {
  readonly channels: readonly ChannelConfig[]
  readonly models: readonly ModelConfig[]
}

/**
 * Checks what a schema cannot, and builds the snapshot.
 *
 * @param providers names of the adapters that exist
 * @returns every problem found, and the catalog when there is none
 */
export function buildCatalog(
  config: CatalogConfig,
  providers: ReadonlySet<string>,
): { catalog: Catalog; problems: CatalogProblem[] } {
  const problems: CatalogProblem[] = []
  const channels = new Map<string, Channel>()
  for (const [i, channel] of config.channels.entries()) {
    const path = ['channels', i]
    if (channels.has(channel.id))
      problems.push({ path: [...path, 'id'], message: `channel "${channel.id}" is declared twice` })
    if (!providers.has(channel.provider)) {
      const known = [...providers].toSorted().join(', ')
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
  const models = new Map<string, Model>()
  const seen = new Set<string>()
  for (const [i, model] of config.models.entries()) {
    const path = ['models', i]
    if (seen.has(model.id)) problems.push({ path: [...path, 'id'], message: `model "${model.id}" is declared twice` })
    seen.add(model.id)
    if (model.released !== undefined && !isDay(model.released)) {
      problems.push({ path: [...path, 'released'], message: `there is no day ${model.released}` })
    }
    const offers = fromOffers(model, channels, path, problems)
    if ((model.visibility ?? 'public') === 'public') models.set(model.id, fromModelConfig(model, offers))
  }
  return { catalog: { channels, models }, problems }
}

function fromChannelConfig(config: ChannelConfig): Channel {
  const { timeout = {}, quirks = {} } = config
  return {
    id: config.id,
    name: config.name ?? config.id,
    provider: config.provider,
    baseUrl: config.base_url,
    apiKeys: config.api_key === undefined ? [] : [config.api_key].flat(),
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
    },
    settings: Object.fromEntries(Object.entries(config).filter(([key]) => !(key in ChannelConfig.properties))),
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

function fromOffers(
  model: ModelConfig,
  channels: ReadonlyMap<string, Channel>,
  modelPath: readonly (string | number)[],
  problems: CatalogProblem[],
): Offer[] {
  return model.offers.flatMap((offer, i) => {
    const path = [...modelPath, 'offers', i]
    const channel = channels.get(offer.channel)
    if (!channel) {
      problems.push({
        path: [...path, 'channel'],
        message: `offer names channel "${offer.channel}", which is not declared`,
      })
    }
    const price = fromPrice(model, offer.price, path, problems)
    if (!channel || !price) return []
    return [{ channel, upstreamModel: offer.upstream_model ?? model.id, price }]
  })
}

/** The offer's own price or the model's; a model that nobody priced must not be served for nothing. */
function fromPrice(
  model: ModelConfig,
  own: PriceConfig | undefined,
  path: readonly (string | number)[],
  problems: CatalogProblem[],
): Price | undefined {
  const config = own ?? model.price
  if (!config) {
    problems.push({
      path,
      message: `model "${model.id}" has no price; add e.g. price: { input: "0.25", output: "2.00", per: 1M }`,
    })
    return undefined
  }
  const missing =
    config.request === undefined ? (NEEDED_RATES[model.scene] ?? []).filter(name => config[name] === undefined) : []
  if (missing.length > 0) {
    problems.push({
      path,
      message: `the price of model "${model.id}" lacks ${missing.join(' and ')}; write "0" for what is free`,
    })
  }
  try {
    return parsePrice(config)
  } catch (error) {
    problems.push({ path, message: `the price of model "${model.id}" cannot be exact: ${(error as Error).message}` })
    return undefined
  }
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

import { type Static, Type } from 'typebox'
import { SCENES } from '#core/scene.ts'

/** The `channels` and `models` sections of the configuration file (docs/configuration.md has every key). */

const Id = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' })
const Decimal = Type.String({ pattern: '^\\d+(\\.\\d+)?$', description: 'US dollars as a quoted decimal, e.g. "0.25"' })
const Duration = Type.String({ pattern: '^\\d+(ms|s|m)$', description: 'e.g. 500ms, 5s, 2m' })

/** Kinds of work that `GET /v1/models?recommended_for=` knows (spec, Generation). */
export const RECOMMENDATIONS = ['image', 'video', 'music', '3d'] as const

const closed = { additionalProperties: false } as const

const TOKEN_PRICES = {
  input: Type.Optional(Decimal),
  output: Type.Optional(Decimal),
  cache_read: Type.Optional(Decimal),
  cache_write_5m: Type.Optional(Decimal),
  cache_write_1h: Type.Optional(Decimal),
  reasoning: Type.Optional(Decimal),
  audio_input: Type.Optional(Decimal),
  audio_output: Type.Optional(Decimal),
}

const PriceTierConfig = Type.Object({ above: Type.Integer({ minimum: 1 }), ...TOKEN_PRICES }, closed)

export const PriceConfig = Type.Object(
  {
    book: Type.Optional(Type.String({ pattern: '^[^/]+/.+$', description: 'An entry of the price book' })),
    per: Type.Optional(Type.Enum(['1M', '1K', 1], { description: 'Tokens that a token price is for' })),
    ...TOKEN_PRICES,
    tiers: Type.Optional(Type.Array(PriceTierConfig, { minItems: 1 })),
    request: Type.Optional(Decimal),
    image: Type.Optional(Decimal),
    second: Type.Optional(Decimal),
    character: Type.Optional(Decimal),
    megapixel: Type.Optional(Decimal),
    page: Type.Optional(Decimal),
  },
  closed,
)

/** Wire formats of upstream endpoints, by the names that `formats` takes. */
const CHANNEL_FORMATS = ['chat-completions', 'responses', 'messages', 'generate-content', 'embeddings'] as const

export const ChannelConfig = Type.Object(
  {
    id: Id,
    name: Type.Optional(Type.String({ minLength: 1 })),
    provider: Type.String(),
    base_url: Type.Optional(Type.String({ pattern: '^https?://' })),
    api_key: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })]),
    ),
    /** What of the provider's API the host speaks, where it is not the usual. */
    formats: Type.Optional(Type.Array(Type.Enum(CHANNEL_FORMATS), { minItems: 1 })),
    tier: Type.Optional(Type.Enum(['official', 'verified'])),
    timeout: Type.Optional(
      Type.Object(
        { connect: Type.Optional(Duration), first_byte: Type.Optional(Duration), idle: Type.Optional(Duration) },
        closed,
      ),
    ),
    quirks: Type.Optional(
      Type.Object(
        {
          stream_options: Type.Optional(Type.Boolean()),
          encrypted_reasoning: Type.Optional(Type.Boolean()),
          reasoning_budget: Type.Optional(Type.Boolean()),
          sampling: Type.Optional(Type.Boolean()),
          function_ids: Type.Optional(Type.Boolean()),
          thinking_levels: Type.Optional(Type.Boolean()),
          placeholder_signatures: Type.Optional(Type.Boolean()),
          json_schemas: Type.Optional(Type.Boolean()),
          custom_tools: Type.Optional(Type.Boolean()),
          short_tool_ids: Type.Optional(Type.Boolean()),
          translation_options: Type.Optional(Type.Boolean()),
        },
        closed,
      ),
    ),
  },
  closed,
)

const OfferConfig = Type.Object(
  {
    channel: Type.String(),
    upstream_model: Type.Optional(Type.String({ minLength: 1 })),
    price: Type.Optional(PriceConfig),
  },
  closed,
)

export const ModelConfig = Type.Object(
  {
    id: Id,
    vendor: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    logical_model: Type.Optional(Id),
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    released: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })),
    scene: Type.Enum(SCENES),
    visibility: Type.Optional(Type.Enum(['public', 'hidden', 'deferred'])),
    recommended_for: Type.Optional(Type.Array(Type.Enum(RECOMMENDATIONS))),
    capabilities: Type.Optional(Type.Array(Type.String())),
    tags: Type.Optional(Type.Array(Type.String())),
    context_length: Type.Optional(Type.Integer({ minimum: 1 })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    price: Type.Optional(PriceConfig),
    offers: Type.Array(OfferConfig, { minItems: 1 }),
  },
  closed,
)

export type PriceTierConfig = Static<typeof PriceTierConfig>
export type PriceConfig = Static<typeof PriceConfig>
export type ChannelConfig = Static<typeof ChannelConfig>
export type ModelConfig = Static<typeof ModelConfig>

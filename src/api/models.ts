import { Type } from 'typebox'
import type { Catalog, DeliveryTier, Model } from '#catalog/catalog.ts'
import { RATE_NAMES } from '#catalog/price.ts'
import { unknownModel, visibleModels } from '#catalog/resolve.ts'
import { RECOMMENDATIONS } from '#catalog/schema.ts'
import { Fault } from '#core/fault.ts'
import { formatDecimal } from '#core/money.ts'
import { type AnyRoute, defineRoute, type Inbound, sendJson } from '#http/inbound/route.ts'
import type { Authenticator } from '#tenants/authenticator.ts'
import type { Principal } from '#tenants/principal.ts'
import { credentialOf } from './credential.ts'

export interface ModelsDeps {
  readonly authenticator: Authenticator
  catalog(): Catalog
}

const ModelRecord = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds; 0 when unknown' }),
    owned_by: Type.String(),
    scene: Type.String(),
    capabilities: Type.Array(Type.String()),
    recommended_for: Type.Array(Type.String()),
    pricing: Type.Unknown({ description: 'US dollars by delivery tier, as decimals a million tokens or a request' }),
  },
  { additionalProperties: true },
)

export function models({ authenticator, catalog }: ModelsDeps): AnyRoute[] {
  const common = {
    method: 'GET',
    bodyBytesMax: 0,
    authorize: (request: Inbound) => authenticator.inference(credentialOf(request)),
  } as const
  return [
    defineRoute<Principal>({
      ...common,
      path: '/v1/models',
      handle: ({ query, sink }, principal) => {
        const wanted = recommendation(query.get('recommended_for'))
        const visible = visibleModels(catalog(), principal.models)
        const data = visible
          .filter(model => wanted === undefined || model.recommendedFor.includes(wanted))
          .map(toRecord)
        sendJson(sink, 200, { object: 'list', data })
      },
      docs: {
        tag: 'Models',
        summary: 'List the models that this key may use',
        security: 'api-key',
        query: Type.Object({ recommended_for: Type.Optional(Type.Enum(RECOMMENDATIONS)) }),
        response: Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelRecord) }),
        errors: [400, 401],
      },
    }),
    defineRoute<Principal>({
      ...common,
      // Ids may contain slashes (`vendor/model`), so the rest of the path is the id.
      path: '/v1/models/*',
      handle: ({ params, sink }, principal) => {
        const id = params['*'] ?? ''
        const model = catalog().models.get(id)
        // A key that may not use a model is not told that it exists.
        const isVisible = !principal.models || principal.models.includes(id)
        if (!model || !isVisible) throw unknownModel(catalog(), id, principal.models)
        sendJson(sink, 200, toRecord(model))
      },
      docs: {
        tag: 'Models',
        summary: 'One model',
        security: 'api-key',
        response: ModelRecord,
        errors: [400, 401],
      },
    }),
  ]
}

function recommendation(value: string | null): string | undefined {
  if (value === null) return undefined
  if ((RECOMMENDATIONS as readonly string[]).includes(value)) return value
  throw new Fault('invalid_request', `\`recommended_for\` must be one of ${RECOMMENDATIONS.join(', ')}.`, {
    param: 'recommended_for',
  })
}

/** OpenAI's record, and beside it what one needs to choose a model (design §8). */
function toRecord(model: Model): Record<string, unknown> {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAt,
    owned_by: model.vendor ?? 'tollgate',
    ...(model.name !== undefined && { name: model.name }),
    ...(model.description !== undefined && { description: model.description }),
    vendor: model.vendor ?? null,
    logical_model: model.logicalModel,
    scene: model.scene,
    status: 'available',
    capabilities: model.capabilities,
    tags: model.tags,
    recommended_for: model.recommendedFor,
    context_length: model.limits.contextLength ?? null,
    max_output_tokens: model.limits.maxOutputTokens ?? null,
    delivery: [...new Set(model.offers.map(offer => offer.channel.tier))],
    pricing: toPricing(model),
  }
}

const ATTO_PLACES = 18
const MILLION_PLACES = 6

/** The first offer of each tier speaks for it: offers are tried in that order. */
function toPricing({ offers }: Model): Record<string, unknown> {
  const tiers = new Map<DeliveryTier, Record<string, string>>()
  for (const { channel, price } of offers) {
    if (tiers.has(channel.tier)) continue
    const rates = RATE_NAMES.flatMap(name => {
      const rate = price.rates[name]
      if (rate === undefined) return []
      return [[name, formatDecimal(rate, name === 'request' ? ATTO_PLACES : ATTO_PLACES - MILLION_PLACES)]]
    })
    tiers.set(channel.tier, Object.fromEntries(rates))
  }
  return { currency: 'USD', per_tokens: 1_000_000, ...Object.fromEntries(tiers) }
}

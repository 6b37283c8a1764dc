import { type TSchema, Type } from 'typebox'
import type { Catalog, DeliveryTier, Model } from '#catalog/catalog.ts'
import { type ReadablePrice, readablePrice } from '#catalog/price.ts'
import { unknownModel, visibleModels } from '#catalog/resolve.ts'
import { RECOMMENDATIONS } from '#catalog/schema.ts'
import { errorBody, Fault } from '#core/fault.ts'
import type { ModelCard } from '#core/model-card.ts'
import { anthropicRateHeaders, type rateHeaders } from '#http/inbound/rate-headers.ts'
import { type AnyRoute, defineRoute, type Inbound, type Route, sendJson } from '#http/inbound/route.ts'
import type { Principal } from '#tenants/principal.ts'
import type { ListingFormat } from '#wire/format.ts'
import { generateContent } from '#wire/generate-content/index.ts'
import { ModelPage, ModelRecord as NativeModelRecord } from '#wire/generate-content/model-list.ts'
import { messages } from '#wire/messages/index.ts'
import { admitCaller, type CallerDeps } from './caller.ts'
import { isNativeCaller, nativeCredentialOf } from './credential.ts'

export interface ModelsDeps extends CallerDeps {
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
    pricing: Type.Unknown({
      description: 'US dollars by delivery tier, as decimals a million tokens, a request or a unit',
    }),
  },
  { additionalProperties: true },
)

const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelRecord) })

/** How one family of SDKs wants to hear of models. */
interface Dialect {
  one(model: Model): Record<string, unknown>
  many(models: readonly Model[], query: URLSearchParams): Record<string, unknown>
  readonly encodeFault?: Route['encodeFault']
  readonly spellRate?: typeof rateHeaders
}

const OWN: Dialect = Object.freeze({
  one: toRecord,
  many: (models: readonly Model[]) => ({ object: 'list', data: models.map(toRecord) }),
})

function foreign({ modelListing, encodeFault }: ListingFormat): Dialect {
  return {
    one: model => modelListing.encodeModel(toCard(model)),
    many: (models, query) => modelListing.encodeModels(models.map(toCard), query),
    encodeFault: (fault, { id }) => encodeFault(fault, id),
  }
}

const ANTHROPIC: Dialect = { ...foreign(messages), spellRate: anthropicRateHeaders }
const GOOGLE = foreign(generateContent)

/** Three families ask at one address, and are told apart by headers that only their SDKs send. */
function dialectOf(request: Inbound): Dialect {
  if (isNativeCaller(request)) return GOOGLE
  const { headers } = request
  return 'anthropic-version' in headers || 'compat-version' in headers ? ANTHROPIC : OWN
}

export function models(deps: ModelsDeps): AnyRoute[] {
  return [
    listRoute(deps, '/v1/models', ModelList),
    // Ids may contain slashes (`vendor/model`), so the rest of the path is the id.
    recordRoute(deps, '/v1/models/*', ModelRecord),
    listRoute(deps, '/v1beta/models', ModelPage),
    recordRoute(deps, '/v1beta/models/*', NativeModelRecord),
  ]
}

function listRoute(deps: ModelsDeps, path: string, response: TSchema): AnyRoute {
  return defineRoute<Principal>({
    ...common(deps),
    path,
    handle: (request, principal) => {
      const { query, sink } = request
      const wanted = recommendation(query.get('recommended_for'))
      const visible = visibleModels(deps.catalog(), principal.models)
      const listed = visible.filter(model => wanted === undefined || model.recommendedFor.includes(wanted))
      sendJson(sink, 200, dialectOf(request).many(listed, query))
    },
    docs: {
      tag: 'Models',
      summary: "List the models that this key may use, in the words of the caller's SDK",
      security: 'api-key',
      query: Type.Object({ recommended_for: Type.Optional(Type.Enum(RECOMMENDATIONS)) }),
      response,
      errors: [400, 401, 429],
    },
  })
}

function recordRoute(deps: ModelsDeps, path: string, response: TSchema): AnyRoute {
  return defineRoute<Principal>({
    ...common(deps),
    path,
    handle: (request, principal) => {
      const id = request.params['*'] ?? ''
      const catalog = deps.catalog()
      const model = catalog.models.get(id)
      // A key that may not use a model is not told that it exists.
      const isVisible = !principal.models || principal.models.includes(id)
      if (!model || !isVisible) throw unknownModel(catalog, id, principal.models)
      sendJson(request.sink, 200, dialectOf(request).one(model))
    },
    docs: {
      tag: 'Models',
      summary: "One model, in the words of the caller's SDK",
      security: 'api-key',
      response,
      errors: [400, 401, 429],
    },
  })
}

function common(deps: ModelsDeps): Pick<Route<Principal>, 'method' | 'bodyBytesMax' | 'authorize' | 'encodeFault'> {
  return {
    method: 'GET',
    bodyBytesMax: 0,
    authorize: request => admitCaller(deps, request, nativeCredentialOf(request), dialectOf(request).spellRate),
    encodeFault: (fault, request) =>
      dialectOf(request).encodeFault?.(fault, request) ?? { status: fault.status, body: errorBody(fault) },
  }
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

function toCard({ id, name, description, createdAt, scene, limits }: Model): ModelCard {
  return {
    id,
    name: name ?? id,
    description,
    createdAt,
    isChat: scene === 'chat',
    contextLength: limits.contextLength,
    maxOutputTokens: limits.maxOutputTokens,
  }
}

/** The first offer of each tier speaks for it: offers are tried in that order. */
function toPricing({ offers }: Model): Record<string, unknown> {
  const delivery = new Map<DeliveryTier, ReadablePrice>()
  for (const { channel, price } of offers) {
    if (!delivery.has(channel.tier)) delivery.set(channel.tier, readablePrice(price))
  }
  return { currency: 'USD', per_tokens: 1_000_000, ...Object.fromEntries(delivery) }
}

import { type TSchema, Type } from 'typebox'
import { DELIVERY_POLICIES } from '#core/delivery.ts'
import { Fault } from '#core/fault.ts'
import { formatUsd, parseUsd } from '#core/money.ts'
import { violationFinder } from '#core/validate.ts'
import type { ApiKeyChanges } from '#tenants/store.ts'
import { type BodyOptions, invalidFields, parseBody } from './body.ts'
import { decodeModels, decodeName, decodeSettings, type SettingDecoders } from './settings.ts'
import { parseTime } from './time.ts'

const NAME_CHARACTERS_MAX = 50
const MODELS_MAX = 1_000
const MODEL_CHARACTERS_MAX = 200
const REQUESTS_PER_MINUTE_MAX = 1_000_000
const CACHE_TTL_SECONDS_MAX = 365 * 86_400

const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const SETTINGS = {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: NAME_CHARACTERS_MAX })),
  limit_amount: optional(
    Type.Union([Type.String(), Type.Number()], {
      description: 'USD, at most twelve digits after the point, taken digit by digit; null: no limit',
    }),
  ),
  limit_currency: Type.Optional(Type.String({ description: 'USD, the only one' })),
  models: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: MODEL_CHARACTERS_MAX }), {
      maxItems: MODELS_MAX,
      description: 'Models that the key may use; none or null: all',
    }),
  ),
  expires_at: optional(Type.String({ description: 'RFC 3339 with time zone; null: never' })),
  delivery_policy: optional(Type.Enum(DELIVERY_POLICIES)),
  requests_per_minute: optional(
    Type.Integer({ minimum: 1, maximum: REQUESTS_PER_MINUTE_MAX, description: "null: the organization's" }),
  ),
  cache_ttl: optional(
    Type.Integer({
      minimum: 1,
      maximum: CACHE_TTL_SECONDS_MAX,
      description: 'Seconds for which an answer is given again to the same request; null: only where a request asks',
    }),
  ),
}
const closed = { additionalProperties: false }

/** Body of a new key; every field has a default. */
export const NewKeySchema = Type.Object(SETTINGS, closed)

/** Body of a change: what is absent stays, null clears. */
export const KeyChangesSchema = Type.Object(
  { ...SETTINGS, status: Type.Optional(Type.Enum(['active', 'inactive'])) },
  closed,
)

const BODY: BodyOptions = {
  spellings: {
    limitAmount: 'limit_amount',
    limitCurrency: 'limit_currency',
    expiresAt: 'expires_at',
    deliveryPolicy: 'delivery_policy',
    requestsPerMinute: 'requests_per_minute',
    cacheTtl: 'cache_ttl',
  },
  amounts: ['limit_amount'],
}

const FIND_VIOLATIONS = {
  new: violationFinder(NewKeySchema),
  changes: violationFinder(KeyChangesSchema),
}

/**
 * What a body says of a key.
 *
 * @throws Fault `invalid_request` that names every wrong field, or `currency_retired`
 */
export function decodeKeySettings(bytes: Buffer, kind: keyof typeof FIND_VIOLATIONS): ApiKeyChanges {
  const body = parseBody(bytes, BODY)
  const settings = decodeSettings<ApiKeyChanges>(body, FIND_VIOLATIONS[kind](body), DECODERS)
  if (kind === 'new') refuseDead(settings)
  refuseForeignCurrency(body.limit_currency)
  return settings
}

/** A key can be ended by this; none is born dead on purpose. */
function refuseDead({ expiresAt }: ApiKeyChanges): void {
  if (!expiresAt || expiresAt.getTime() > Date.now()) return
  throw invalidFields([{ field: 'expires_at', message: 'has passed already' }])
}

const DECODERS: SettingDecoders<ApiKeyChanges> = {
  name: { setting: 'name', decode: decodeName },
  status: { setting: 'status', decode: (status: string) => status },
  limit_amount: { setting: 'limitAmount', decode: decodeAmount },
  models: { setting: 'models', decode: decodeModels },
  expires_at: { setting: 'expiresAt', decode: decodeTime },
  delivery_policy: { setting: 'deliveryPolicy', decode: (policy: string) => policy },
  requests_per_minute: { setting: 'requestsPerMinute', decode: (rate: number) => rate },
  cache_ttl: { setting: 'cacheTtlSeconds', decode: (seconds: number) => seconds },
}

function decodeAmount(text: string): string {
  let amount: bigint
  try {
    amount = parseUsd(text)
  } catch (error) {
    const problem = (error as Error).message.replace(/^"[^"]*" /, '')
    throw new RangeError(`must be an amount in US dollars like "25.50" with at most 12 decimals: it ${problem}`)
  }
  if (amount < 0n) throw new RangeError('must not be negative')
  return formatUsd(amount)
}

function decodeTime(text: string): Date {
  const timeMs = parseTime(text)
  if (timeMs === undefined) throw new RangeError('must be an RFC 3339 time with a time zone (2026-01-31T12:00:00Z)')
  return new Date(timeMs)
}

function refuseForeignCurrency(currency: unknown): void {
  if (typeof currency !== 'string' || currency.toUpperCase() === 'USD') return
  throw new Fault('currency_retired', 'Limits are in USD only.', { param: 'limit_currency' })
}

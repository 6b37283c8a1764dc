import { type TSchema, Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { formatUsd, parseUsd } from '#core/money.ts'
import { violationFinder } from '#core/validate.ts'
import { DELIVERY_POLICIES } from '#tenants/principal.ts'
import type { ApiKeyChanges } from '#tenants/store.ts'
import { type BodyOptions, invalidFields, parseBody, toValidationErrors } from './body.ts'
import { parseTime } from './time.ts'

const NAME_CHARACTERS_MAX = 50
const MODELS_MAX = 1_000
const MODEL_CHARACTERS_MAX = 200
const REQUESTS_PER_MINUTE_MAX = 1_000_000

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
  const errors = toValidationErrors(FIND_VIOLATIONS[kind](body))
  const settings: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(body)) {
    const decoder = DECODERS[field]
    if (!decoder || errors.some(error => error.field === field || error.field.startsWith(`${field}[`))) continue
    try {
      settings[decoder.setting] = value === null ? undefined : decoder.decode(value as never)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      errors.push({ field, message: error.message })
    }
  }
  if (kind === 'new' && hasPassed(settings.expiresAt))
    errors.push({ field: 'expires_at', message: 'has passed already' })
  if (errors.length > 0) throw invalidFields(errors)
  refuseForeignCurrency(body.limit_currency)
  return settings
}

/** A key can be ended by this; none is born dead on purpose. */
function hasPassed(time: unknown): boolean {
  return time instanceof Date && time.getTime() <= Date.now()
}

/** From a field that fits its schema to a setting. @throws RangeError with what is wrong with the field */
const DECODERS: Readonly<Record<string, { setting: keyof ApiKeyChanges; decode(value: never): unknown }>> = {
  name: { setting: 'name', decode: decodeName },
  status: { setting: 'status', decode: (status: string) => status },
  limit_amount: { setting: 'limitAmount', decode: decodeAmount },
  models: { setting: 'models', decode: (ids: string[]) => (ids.length === 0 ? undefined : [...new Set(ids)]) },
  expires_at: { setting: 'expiresAt', decode: decodeTime },
  delivery_policy: { setting: 'deliveryPolicy', decode: (policy: string) => policy },
  requests_per_minute: { setting: 'requestsPerMinute', decode: (rate: number) => rate },
}

/** Postgres holds no zero byte, and a list of keys no line break. */
function decodeName(text: string): string {
  if (/\p{Cc}/u.test(text)) throw new RangeError('must not contain control characters')
  if (text.trim() === '') throw new RangeError('must not be empty')
  return text.trim()
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

import { Type } from 'typebox'
import { canonicalDecimal } from '#core/money.ts'
import { type KeyUsage, readKeyUsages } from '#quota/store.ts'
import type { Database } from '#storage/database.ts'
import { DELIVERY_POLICIES } from '#tenants/principal.ts'
import type { ApiKey } from '#tenants/store.ts'
import { KEY_STATUSES, keyStatus } from './key-status.ts'
import { usdFields } from './usd-fields.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

/** Fields of {@link KeySummarySchema}, for answers that say more. */
export const KEY_SUMMARY_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  key_prefix: Type.String({ description: 'What the key begins with' }),
  status: Type.Enum(KEY_STATUSES),
  limit_amount: nullable(Type.Number({ description: 'USD; null: no limit of its own' })),
  limit_amount_decimal: nullable(Type.String()),
  used_amount: Type.Number({ description: 'USD' }),
  used_amount_decimal: Type.String(),
  models: Type.Array(Type.String(), { description: 'Models that the key may use; none: all' }),
  expires_at: nullable(Type.String({ format: 'date-time' })),
  last_used_at: nullable(Type.String({ format: 'date-time' })),
  delivery_policy: nullable(Type.Enum(DELIVERY_POLICIES)),
  requests_per_minute: nullable(Type.Integer({ description: "null: the organization's" })),
  created_at: Type.String({ format: 'date-time' }),
}

/** The API key summary of the spec, and what else an owner may set. */
export const KeySummarySchema = Type.Object(KEY_SUMMARY_FIELDS)

export async function summarizeKey(database: Database, key: ApiKey): Promise<Record<string, unknown>> {
  const [summary] = await summarizeKeys(database, [key])
  return summary as Record<string, unknown>
}

/** Summaries with what each key has used, read at once for all. */
export async function summarizeKeys(database: Database, keys: readonly ApiKey[]): Promise<Record<string, unknown>[]> {
  const usages = await readKeyUsages(
    database,
    keys.map(({ id }) => id),
  )
  return keys.map(key => toSummary(key, usages.get(key.id)))
}

/** `null`: no limit, never used, never expires; no models: all of them. */
function toSummary(key: ApiKey, usage: KeyUsage | undefined): Record<string, unknown> {
  const used = canonicalDecimal(usage?.usedAmount ?? '0')
  return {
    id: key.id,
    name: key.name,
    key_prefix: key.keyPrefix,
    status: keyStatus(key, used),
    ...usdFields('limit_amount', key.limitAmount),
    ...usdFields('used_amount', used),
    models: key.models ?? [],
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: usage?.lastUsedAt?.toISOString() ?? null,
    delivery_policy: key.deliveryPolicy ?? null,
    requests_per_minute: key.requestsPerMinute ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

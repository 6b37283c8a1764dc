import { Type } from 'typebox'
import { FALLBACKS, type ProviderKey, TEST_OUTCOMES } from '#tenants/provider-keys/provider-key.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])
const time = () => nullable(Type.String({ format: 'date-time' }))

/** A provider key as its owner sees it; its secret is never among it. */
export const ProviderKeySchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('provider_key'),
  name: Type.String(),
  provider: Type.String(),
  base_url: nullable(Type.String({ description: "null: the provider's own" })),
  key_hint: Type.String({ description: 'How the key ends' }),
  models: Type.Array(Type.String(), { description: 'None: those that the platform reaches at the same address' }),
  upstream_models: Type.Record(Type.String(), Type.String()),
  priority: Type.Integer(),
  fallback: Type.Enum(FALLBACKS),
  status: Type.Enum(['active', 'inactive', 'disabled']),
  disabled_reason: nullable(Type.String()),
  disabled_at: time(),
  last_used_at: time(),
  last_tested_at: time(),
  last_test: nullable(Type.Enum(TEST_OUTCOMES)),
  created_at: Type.String({ format: 'date-time' }),
})

export function summarizeProviderKey(key: ProviderKey): Record<string, unknown> {
  return {
    id: key.id,
    object: 'provider_key',
    name: key.name,
    provider: key.provider,
    base_url: key.baseUrl ?? null,
    key_hint: key.hint,
    models: key.models ?? [],
    upstream_models: key.upstreamModels,
    priority: key.priority,
    fallback: key.fallback,
    status: key.status,
    disabled_reason: key.disabledReason ?? null,
    disabled_at: key.disabledAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    last_tested_at: key.lastTestedAt?.toISOString() ?? null,
    last_test: key.lastTest ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

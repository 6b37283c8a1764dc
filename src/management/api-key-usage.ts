import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { canonicalDecimal, parseUsd } from '#core/money.ts'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { reportUsage } from '#metering/report/report.ts'
import { type KeyUsage, readKeyUsage } from '#quota/store.ts'
import { type ApiKey, findApiKey } from '#tenants/store.ts'

import { type ManagementDeps, managementRoute } from './management-route.ts'
import { decodeUsageQuery, UsageQuerySchema } from './usage-query.ts'

/** `GET /v1/management/api-keys/{keyId}/usage`: what a key has used, request by request and summed up. */
export function apiKeyUsage(deps: ManagementDeps): AnyRoute {
  const { database } = deps
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/api-keys/:keyId/usage',
    bodyBytesMax: 0,
    handle: async (request, manager) => {
      const query = decodeUsageQuery(request.query)
      const keyId = request.params.keyId ?? ''
      const key = await findApiKey(database, manager.workspaceId, keyId)
      if (!key) throw new Fault('not_found', `There is no API key "${keyId.slice(0, 100)}" in this workspace.`)
      const { page, limit, ...filter } = query
      const report = await reportUsage(database, { keyId: key.id, ...filter }, { page, limit })
      sendJson(request.sink, 200, { api_key: toSummary(key, await readKeyUsage(database, key.id)), ...report })
    },
    docs: {
      tag: 'Usage',
      summary: "A key's usage and cost",
      query: UsageQuerySchema,
      response: Type.Object({
        api_key: Type.Unknown(),
        items: Type.Array(Type.Unknown()),
        pagination: Type.Unknown(),
        summary: Type.Unknown(),
        breakdowns: Type.Unknown(),
      }),
      errors: [400, 401, 404],
    },
  })
}

/** The API key summary of the spec. `null`: no limit, never used, never expires; no models: all of them. */
function toSummary(key: ApiKey, usage: KeyUsage | undefined): Record<string, unknown> {
  const used = canonicalDecimal(usage?.usedAmount ?? '0')
  return {
    id: key.id,
    name: key.name,
    key_prefix: key.keyPrefix,
    status: statusOf(key, used),
    limit_amount: key.limitAmount === undefined ? null : Number(key.limitAmount),
    limit_amount_decimal: key.limitAmount ?? null,
    used_amount: Number(used),
    used_amount_decimal: used,
    models: key.models ?? [],
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: usage?.lastUsedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

/** `expired` and `limit_reached` are not stored: they follow from the clock and the sums. */
function statusOf(key: ApiKey, used: string): string {
  if (key.status !== 'active') return key.status
  if (key.expiresAt && key.expiresAt.getTime() <= Date.now()) return 'expired'
  if (key.limitAmount !== undefined && parseUsd(used) >= parseUsd(key.limitAmount)) return 'limit_reached'
  return 'active'
}

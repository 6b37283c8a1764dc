import { Type } from 'typebox'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { reportUsage } from '#metering/report/report.ts'
import { findKey } from './api-keys.ts'
import { KeySummarySchema, summarizeKey } from './key-summary.ts'
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
      const key = await findKey(deps, manager.workspaceId, request.params.keyId ?? '')
      const { page, limit, ...filter } = query
      const report = await reportUsage(database, { keyId: key.id, ...filter }, { page, limit })
      sendJson(request.sink, 200, { api_key: await summarizeKey(database, key), ...report })
    },
    docs: {
      tag: 'Usage',
      summary: "A key's usage and cost",
      query: UsageQuerySchema,
      response: Type.Object({
        api_key: KeySummarySchema,
        items: Type.Array(Type.Unknown()),
        pagination: Type.Unknown(),
        summary: Type.Unknown(),
        breakdowns: Type.Unknown(),
      }),
      errors: [400, 401, 404],
    },
  })
}

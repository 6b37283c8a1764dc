import { Type } from 'typebox'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { findKey } from './api-keys.ts'
import { KeySummarySchema, summarizeKey } from './key-summary.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import { UsageQuerySchema } from './usage-query.ts'
import { reportFor, USAGE_REPORT_FIELDS } from './usage-report.ts'

/** `GET /v1/management/api-keys/{keyId}/usage`: what a key has used, request by request and summed up. */
export function apiKeyUsage(deps: ManagementDeps): AnyRoute {
  const { database } = deps
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/api-keys/:keyId/usage',
    bodyBytesMax: 0,
    handle: async ({ params, query, sink }, { workspaceId }) => {
      const key = await findKey(deps, workspaceId, params.keyId ?? '')
      const report = await reportFor(database, { kind: 'key', id: key.id }, query)
      sendJson(sink, 200, { api_key: await summarizeKey(database, key), ...report })
    },
    docs: {
      tag: 'Usage',
      summary: "A key's usage and cost",
      query: UsageQuerySchema,
      response: Type.Object({ api_key: KeySummarySchema, ...USAGE_REPORT_FIELDS }),
      errors: [400, 401, 404],
    },
  })
}

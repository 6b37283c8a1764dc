import { Type } from 'typebox'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import { UsageQuerySchema } from './usage-query.ts'
import { reportFor, USAGE_REPORT_FIELDS } from './usage-report.ts'

/** `GET /v1/management/usage`: what all keys of the organization have used. */
export function usage(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/usage',
    bodyBytesMax: 0,
    handle: async ({ query, sink }, { organizationId }) => {
      sendJson(sink, 200, await reportFor(deps.database, { kind: 'organization', id: organizationId }, query))
    },
    docs: {
      tag: 'Usage',
      summary: "The organization's usage and cost, over all its keys",
      query: UsageQuerySchema,
      response: Type.Object(USAGE_REPORT_FIELDS),
      errors: [400, 401],
    },
  })
}

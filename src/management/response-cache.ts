import { Type } from 'typebox'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import type { ResponseCache } from '#response-cache/response-cache.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'

export interface ResponseCacheDeps {
  readonly responseCache: ResponseCache
}

/** `DELETE /v1/management/cache`: forgets all answers of the token's workspace that would be given again. */
export function responseCache(deps: ManagementDeps & ResponseCacheDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'DELETE',
    path: '/v1/management/cache',
    bodyBytesMax: 0,
    handle: async ({ sink }, { workspaceId }) => {
      const count = await deps.responseCache.forget(workspaceId)
      sendJson(sink, 200, { object: 'cache', deleted: true, deleted_count: count })
    },
    docs: {
      tag: 'Cache',
      summary: "Forget the workspace's cached answers",
      response: Type.Object({
        object: Type.Literal('cache'),
        deleted: Type.Literal(true),
        deleted_count: Type.Integer({ description: 'How many there were' }),
      }),
      errors: [401],
    },
  })
}

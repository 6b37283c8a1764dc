import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { type AnyRoute, defineRoute, type Inbound, type Route, type RouteDocs, sendJson } from '#http/inbound/route.ts'
import type { StoredResponses } from '#stored-responses/stored-responses.ts'
import type { Principal } from '#tenants/principal.ts'
import { ResponsesResponse } from '#wire/responses/schema.ts'
import { referencesIn, withReferred } from '#wire/responses/self-contained.ts'
import { admitCaller, type CallerDeps } from './caller.ts'
import { credentialOf } from './credential.ts'
import { ItemPage, ItemPageQuery, itemPage } from './item-page.ts'

export interface StoredResponsesDeps extends CallerDeps {
  readonly storedResponses: StoredResponses
}

/** What callers of `/v1/responses` may do with the responses that their workspace has kept. */
export function storedResponses(deps: StoredResponsesDeps): AnyRoute[] {
  return [retrieval(deps), deletion(deps), inputItems(deps)]
}

function retrieval(deps: StoredResponsesDeps): AnyRoute {
  return storedResponseRoute(deps, {
    method: 'GET',
    path: '/v1/responses/:responseId',
    handle: async ({ query, sink }, stored, workspaceId, responseId) => {
      if (query.get('stream') === 'true') {
        const message = 'A stored response is given whole; `stream` is not supported.'
        throw new Fault('unsupported_parameter', message, { param: 'stream' })
      }
      const response = await stored.response(workspaceId, responseId)
      sink.send(200, { 'content-type': 'application/json' }, Buffer.from(response))
    },
    docs: { summary: 'A stored response', response: ResponsesResponse },
  })
}

function deletion(deps: StoredResponsesDeps): AnyRoute {
  return storedResponseRoute(deps, {
    method: 'DELETE',
    path: '/v1/responses/:responseId',
    handle: async ({ sink }, stored, workspaceId, responseId) => {
      await stored.delete(workspaceId, responseId)
      sendJson(sink, 200, { id: responseId, object: 'response', deleted: true })
    },
    docs: {
      summary: 'Delete a stored response',
      response: Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }),
    },
  })
}

function inputItems(deps: StoredResponsesDeps): AnyRoute {
  return storedResponseRoute(deps, {
    method: 'GET',
    path: '/v1/responses/:responseId/input_items',
    handle: async ({ query, sink }, stored, workspaceId, responseId) => {
      const input = await stored.input(workspaceId, responseId)
      const referred = await stored.items(workspaceId, referencesIn(input))
      sendJson(sink, 200, itemPage(withReferred(input, referred), query))
    },
    docs: { summary: "The items of a stored response's own input", query: ItemPageQuery, response: ItemPage },
  })
}

interface StoredResponseEndpoint extends Pick<Route, 'method' | 'path'> {
  handle(request: Inbound, stored: StoredResponses, workspaceId: string, responseId: string): Promise<void>
  readonly docs: Pick<RouteDocs, 'summary' | 'query' | 'response'>
}

function storedResponseRoute(
  deps: StoredResponsesDeps,
  { method, path, handle, docs }: StoredResponseEndpoint,
): AnyRoute {
  return defineRoute<Principal>({
    method,
    path,
    bodyBytesMax: 0,
    authorize: request => admitCaller(deps, request, credentialOf(request)),
    handle: (request, { workspaceId }) =>
      handle(request, deps.storedResponses, workspaceId, request.params.responseId ?? ''),
    docs: { tag: 'Chat', ...docs, security: 'api-key', errors: [400, 401, 404, 429, 503] },
  })
}

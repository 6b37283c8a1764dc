import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import type { DatabaseTransaction } from '#storage/database.ts'
import type { Manager } from '#tenants/principal.ts'
import {
  type ApiKey,
  createApiKey,
  findApiKey,
  lockApiKey,
  pageApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '#tenants/store.ts'
import { refuseFields } from './body.ts'
import { decodeKeySettings, KeyChangesSchema, NewKeySchema } from './key-settings.ts'
import { KEY_SUMMARY_FIELDS, KeySummarySchema, summarizeKey, summarizeKeys } from './key-summary.ts'
import { decodeListQuery, ListQuerySchema, toPage, unknownCursor } from './list-query.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'

const PATH = '/v1/management/api-keys'
const BODY_BYTES_MAX = 512 * 1024
const NAME_DEFAULT = 'Default Key'

/** A summary with the credential, which is shown this once. */
const KeyWithCredentialSchema = Type.Object({
  ...KEY_SUMMARY_FIELDS,
  key: Type.String({ description: 'The whole key; it cannot be shown again' }),
})

/** `/v1/management/api-keys`: the keys of the token's workspace. */
export function apiKeys(deps: ManagementDeps): AnyRoute[] {
  return [createRoute(deps), listRoute(deps), readRoute(deps), updateRoute(deps), rotateRoute(deps), revokeRoute(deps)]
}

function createRoute(deps: ManagementDeps): AnyRoute {
  const { database, hasher } = deps
  return managementRoute(deps, {
    method: 'POST',
    path: PATH,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ body, sink }, { workspaceId }) => {
      const settings = { name: NAME_DEFAULT, ...decodeKeySettings(body, 'new') }
      const { id, credential } = await database
        .transaction()
        .execute(transaction => createApiKey(transaction, hasher, { workspaceId, ...settings }))
      const key = await findKey(deps, workspaceId, id)
      sendJson(sink, 201, { ...(await summarizeKey(database, key)), key: credential })
    },
    docs: {
      tag: 'API keys',
      summary: 'Create a key; it is shown in full only in this answer',
      body: NewKeySchema,
      successStatus: 201,
      response: KeyWithCredentialSchema,
      errors: [400, 401],
    },
  })
}

function listRoute(deps: ManagementDeps): AnyRoute {
  const { database } = deps
  return managementRoute(deps, {
    method: 'GET',
    path: PATH,
    bodyBytesMax: 0,
    handle: async ({ query, sink }, { workspaceId }) => {
      const { limit, after } = decodeListQuery(query)
      const previous = after === undefined ? undefined : await findApiKey(database, workspaceId, after)
      if (after !== undefined && !previous) throw unknownCursor('a key')
      const keys = await pageApiKeys(database, workspaceId, { after: previous, limit: limit + 1 })
      sendJson(sink, 200, toPage(await summarizeKeys(database, keys), limit))
    },
    docs: {
      tag: 'API keys',
      summary: 'List the keys of the workspace, newest first',
      query: ListQuerySchema,
      response: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(KeySummarySchema),
        has_more: Type.Boolean(),
      }),
      errors: [400, 401],
    },
  })
}

function readRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'GET',
    path: `${PATH}/:keyId`,
    bodyBytesMax: 0,
    handle: async ({ params, sink }, { workspaceId }) => {
      const key = await findKey(deps, workspaceId, params.keyId ?? '')
      sendJson(sink, 200, await summarizeKey(deps.database, key))
    },
    docs: { tag: 'API keys', summary: 'One key', response: KeySummarySchema, errors: [401, 404] },
  })
}

function updateRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'PATCH',
    path: `${PATH}/:keyId`,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ params, body, sink }, manager) => {
      const changes = decodeKeySettings(body, 'changes')
      const key = await changeKey(deps, manager, params.keyId ?? '', (transaction, { id }) =>
        updateApiKey(transaction, id, changes),
      )
      sendJson(sink, 200, await summarizeKey(deps.database, key))
    },
    docs: {
      tag: 'API keys',
      summary: 'Change a key, on every node within a second; what is absent stays, null clears',
      body: KeyChangesSchema,
      response: KeySummarySchema,
      errors: [400, 401, 404],
    },
  })
}

function rotateRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'POST',
    path: `${PATH}/:keyId/rotate`,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ params, body, sink }, manager) => {
      refuseFields(body)
      const { key, credential } = await changeKey(deps, manager, params.keyId ?? '', (transaction, { id }) =>
        rotateApiKey(transaction, deps.hasher, id),
      )
      sendJson(sink, 200, { ...(await summarizeKey(deps.database, key)), key: credential })
    },
    docs: {
      tag: 'API keys',
      summary: 'Give a key another secret, shown in full only in this answer; the old one is unknown at once',
      response: KeyWithCredentialSchema,
      errors: [400, 401, 404],
    },
  })
}

function revokeRoute(deps: ManagementDeps): AnyRoute {
  const { database } = deps
  return managementRoute(deps, {
    method: 'DELETE',
    path: `${PATH}/:keyId`,
    bodyBytesMax: 0,
    handle: async ({ params, sink }, { workspaceId }) => {
      const { id } = await findKey(deps, workspaceId, params.keyId ?? '')
      await database.transaction().execute(transaction => revokeApiKey(transaction, id))
      sendJson(sink, 200, { id, object: 'api_key', deleted: true })
    },
    docs: {
      tag: 'API keys',
      summary: 'Revoke a key for good, on every node within a second; reports keep it',
      response: Type.Object({ id: Type.String(), object: Type.Literal('api_key'), deleted: Type.Literal(true) }),
      errors: [401, 404],
    },
  })
}

/** @throws Fault `not_found` for a key that is not the workspace's */
export async function findKey({ database }: ManagementDeps, workspaceId: string, keyId: string): Promise<ApiKey> {
  const key = await findApiKey(database, workspaceId, keyId)
  if (!key) throw unknownKey(keyId)
  return key
}

/** Changes a key that stays as it was found until the change is made. @throws Fault when it is unknown or revoked */
function changeKey<T>(
  { database }: ManagementDeps,
  { workspaceId }: Manager,
  keyId: string,
  change: (transaction: DatabaseTransaction, key: ApiKey) => Promise<T>,
): Promise<T> {
  return database.transaction().execute(async transaction => {
    const key = await lockApiKey(transaction, workspaceId, keyId)
    if (!key) throw unknownKey(keyId)
    if (key.status === 'revoked') {
      throw new Fault('invalid_request', 'This API key has been revoked, which is for good.', {
        hint: 'Create another key.',
      })
    }
    return change(transaction, key)
  })
}

const SHOWN_CHARACTERS_MAX = 100

function unknownKey(keyId: string): Fault {
  return new Fault('not_found', `There is no API key "${keyId.slice(0, SHOWN_CHARACTERS_MAX)}" in this workspace.`)
}

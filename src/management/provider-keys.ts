import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import type { DatabaseTransaction } from '#storage/database.ts'
import type { Manager } from '#tenants/principal.ts'
import { type ProviderKey, TEST_OUTCOMES } from '#tenants/provider-keys/provider-key.ts'
import {
  createProviderKey,
  deleteProviderKey,
  findProviderKey,
  lockProviderKey,
  openProviderKey,
  pageProviderKeys,
  recordTest,
  rotateProviderKey,
  updateProviderKey,
} from '#tenants/provider-keys/store.ts'
import { refuseFields } from './body.ts'
import { decodeListQuery, ListQuerySchema, toPage, unknownCursor } from './list-query.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import {
  decodeNewProviderKey,
  decodeNewSecret,
  decodeProviderKeyChanges,
  NewProviderKeySchema,
  NewSecretSchema,
  ProviderKeyChangesSchema,
} from './provider-key-settings.ts'
import { ProviderKeySchema, summarizeProviderKey } from './provider-key-summary.ts'

const PATH = '/v1/management/provider-keys'
const ONE = `${PATH}/:providerKeyId`
const BODY_BYTES_MAX = 512 * 1024
const TAG = 'Provider keys'

/** `/v1/management/provider-keys`: accounts at providers that the token's workspace brings itself (byok). */
export function providerKeys(deps: ManagementDeps): AnyRoute[] {
  return [
    createRoute(deps),
    listRoute(deps),
    readRoute(deps),
    updateRoute(deps),
    rotateRoute(deps),
    testRoute(deps),
    deleteRoute(deps),
  ]
}

function createRoute(deps: ManagementDeps): AnyRoute {
  const { database, vault } = deps
  return managementRoute(deps, {
    method: 'POST',
    path: PATH,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ body, sink }, { workspaceId }) => {
      const input = decodeNewProviderKey(body, deps)
      const key = await database
        .transaction()
        .execute(transaction => createProviderKey(transaction, vault, { workspaceId, ...input }))
      sendJson(sink, 201, summarizeProviderKey(key))
    },
    docs: {
      tag: TAG,
      summary: "Bring a provider's key, which serves the workspace's requests from then on; it is never shown again",
      body: NewProviderKeySchema,
      successStatus: 201,
      response: ProviderKeySchema,
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
      const previous = after === undefined ? undefined : await findProviderKey(database, workspaceId, after)
      if (after !== undefined && !previous) throw unknownCursor('a provider key')
      const keys = await pageProviderKeys(database, workspaceId, { after: previous, limit: limit + 1 })
      sendJson(sink, 200, toPage(keys.map(summarizeProviderKey), limit))
    },
    docs: {
      tag: TAG,
      summary: 'List the provider keys of the workspace, newest first',
      query: ListQuerySchema,
      response: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(ProviderKeySchema),
        has_more: Type.Boolean(),
      }),
      errors: [400, 401],
    },
  })
}

function readRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'GET',
    path: ONE,
    bodyBytesMax: 0,
    handle: async ({ params, sink }, manager) => {
      sendJson(sink, 200, summarizeProviderKey(await find(deps, manager, params)))
    },
    docs: { tag: TAG, summary: 'One provider key', response: ProviderKeySchema, errors: [401, 404] },
  })
}

function updateRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'PATCH',
    path: ONE,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ params, body, sink }, manager) => {
      const changes = decodeProviderKeyChanges(body)
      const key = await change(deps, manager, params, (transaction, found) =>
        updateProviderKey(transaction, found, changes),
      )
      sendJson(sink, 200, summarizeProviderKey(key))
    },
    docs: {
      tag: TAG,
      summary: 'Change a provider key, on every node within a second; what is absent stays, null clears',
      body: ProviderKeyChangesSchema,
      response: ProviderKeySchema,
      errors: [400, 401, 404],
    },
  })
}

function rotateRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'POST',
    path: `${ONE}/rotate`,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ params, body, sink }, manager) => {
      const secret = decodeNewSecret(body)
      const key = await change(deps, manager, params, (transaction, found) =>
        rotateProviderKey(transaction, deps.vault, found, secret),
      )
      sendJson(sink, 200, summarizeProviderKey(key))
    },
    docs: {
      tag: TAG,
      summary:
        'Give a provider key another secret, used on every node within a second; one that was disabled is active',
      body: NewSecretSchema,
      response: ProviderKeySchema,
      errors: [400, 401, 404],
    },
  })
}

function testRoute(deps: ManagementDeps): AnyRoute {
  const { database, vault, probe } = deps
  return managementRoute(deps, {
    method: 'POST',
    path: `${ONE}/test`,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ params, body, sink }, manager) => {
      refuseFields(body)
      const key = await find(deps, manager, params)
      const { outcome, status, detail } = await probe(await openProviderKey(database, vault, key))
      await recordTest(database, key.id, outcome)
      sendJson(sink, 200, {
        object: 'provider_key_test',
        provider_key_id: key.id,
        outcome,
        upstream_status: status ?? null,
        detail,
      })
    },
    docs: {
      tag: TAG,
      summary:
        'Ask the provider, at no cost, whether it takes the key; the outcome is kept, the status does not change',
      response: Type.Object({
        object: Type.Literal('provider_key_test'),
        provider_key_id: Type.String(),
        outcome: Type.Enum(TEST_OUTCOMES),
        upstream_status: Type.Union([Type.Integer(), Type.Null()]),
        detail: Type.String(),
      }),
      errors: [400, 401, 404],
    },
  })
}

function deleteRoute(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'DELETE',
    path: ONE,
    bodyBytesMax: 0,
    handle: async ({ params, sink }, manager) => {
      const id = await change(deps, manager, params, async (transaction, key) => {
        await deleteProviderKey(transaction, key)
        return key.id
      })
      sendJson(sink, 200, { id, object: 'provider_key', deleted: true })
    },
    docs: {
      tag: TAG,
      summary: 'Delete a provider key and its secret, on every node within a second; reports keep its id',
      response: Type.Object({ id: Type.String(), object: Type.Literal('provider_key'), deleted: Type.Literal(true) }),
      errors: [401, 404],
    },
  })
}

type Params = Readonly<Record<string, string>>

/** @throws Fault `not_found` for a key that is not the workspace's */
async function find(
  { database }: ManagementDeps,
  { workspaceId }: Manager,
  { providerKeyId = '' }: Params,
): Promise<ProviderKey> {
  return (await findProviderKey(database, workspaceId, providerKeyId)) ?? unknown(providerKeyId)
}

/** Changes a key that stays as it was found until the change is made. @throws Fault `not_found` */
function change<T>(
  { database }: ManagementDeps,
  { workspaceId }: Manager,
  { providerKeyId = '' }: Params,
  make: (transaction: DatabaseTransaction, key: ProviderKey) => Promise<T>,
): Promise<T> {
  return database.transaction().execute(async transaction => {
    const key = await lockProviderKey(transaction, workspaceId, providerKeyId)
    return make(transaction, key ?? unknown(providerKeyId))
  })
}

const SHOWN_CHARACTERS_MAX = 100

function unknown(id: string): never {
  throw new Fault('not_found', `There is no provider key "${id.slice(0, SHOWN_CHARACTERS_MAX)}" in this workspace.`)
}

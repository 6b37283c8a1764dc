import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { commandBeside, createKey, createToken } from '../support/credentials.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { bringKey } from '../support/provider-keys.ts'
import { usageRecord } from '../support/usage-record.ts'

/** An organization with something of everything. */
interface Tenant {
  readonly name: string
  readonly token: string
  readonly apiKey: string
  /** Texts that nobody else may ever read. */
  readonly marks: readonly string[]
}

interface ManagementRoute {
  readonly method: string
  readonly path: string
}

/**
 * A thing of a tenant's, by the name that routes give its id. A route with another parameter fails this suite until it
 * is said here what stands for it.
 */
const SUBJECTS: Readonly<Record<string, (tenant: Tenant) => Promise<string>>> = {
  keyId: async ({ name, token }) => {
    const { status, body } = await manage(gateway, 'POST', 'api-keys', { key: token, body: { name: `key of ${name}` } })
    assert.equal(status, 201)
    return body.id
  },
  providerKeyId: ({ name, token }) =>
    bringKey(gateway, token, { ...PROVIDER_KEY, name: `provider key of ${name}`, base_url: 'https://localhost:9/' }),
}

const PROVIDER_KEY = { provider: 'openai', key: 'sk-of-a-provider' }

/** What routes want to be sent that take no empty body. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /v1/management/provider-keys': PROVIDER_KEY,
  'POST /v1/management/provider-keys/{providerKeyId}/rotate': { key: 'sk-another' },
}

let gateway: Gateway
let database: Database
let routes: ManagementRoute[]
let tenants: [Tenant, Tenant]

before(async () => {
  gateway = await Gateway.start()
  assert.ok(gateway.database)
  database = gateway.database.open()
  tenants = [await newTenant('tenant-amber'), await newTenant('tenant-birch')]
  const document = (await (await gateway.fetch('/openapi.json', { key: null })).json()) as {
    paths: Record<string, Record<string, { security: object[] }>>
  }
  routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.some(scheme => 'managementToken' in scheme))
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  )
})

after(() => gateway.stop())

async function newTenant(name: string): Promise<Tenant> {
  await commandBeside(gateway, 'orgs', 'create', name)
  const [key, token] = await Promise.all([
    createKey(gateway, '--org', name, '--name', `first key of ${name}`),
    createToken(gateway, '--org', name),
  ])
  const { rows } = await sql<{ organization_id: string; workspace_id: string }>`
    select organization_id, id as workspace_id from workspaces w
    where id = (select workspace_id from api_keys where id = ${key.id})
  `.execute(database)
  const [place] = rows
  assert.ok(place)
  const record = usageRecord({ ...place, api_key_id: key.id, model: `model of ${name}` })
  await insertUsage(database, JSON.stringify([record]), 'node_test')
  return {
    name,
    token: token.credential,
    apiKey: key.credential,
    marks: [name, key.id, key.credential.slice(0, 11), place.organization_id, place.workspace_id, record.request_id],
  }
}

const pairs = () => [tenants, tenants.toReversed()] as [caller: Tenant, owner: Tenant][]
const parametersOf = ({ path }: ManagementRoute) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
const NAMING = (route: ManagementRoute) => parametersOf(route).length > 0
const nameOf = ({ method, path }: ManagementRoute) => `${method} ${path}`

/** Ids for a route's parameters. */
async function idsFor(route: ManagementRoute, owner: Tenant): Promise<Record<string, string>> {
  const ids: Record<string, string> = {}
  for (const name of parametersOf(route)) {
    const subject = SUBJECTS[name]
    assert.ok(subject, `${nameOf(route)}: say in SUBJECTS what a ${name} is`)
    ids[name] = await subject(owner)
  }
  return ids
}

/** Ids of the same form that were never given. */
function neverGiven(ids: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, id.replace(/_.*$/, `_${'0'.repeat(24)}`)]))
}

interface Seen {
  readonly status: number
  readonly headers: string
  readonly text: string
}

/** The caller's own, which count every request. */
const RATE_HEADERS = ['limit', 'remaining', 'reset'].map(what => `x-ratelimit-${what}-requests`)

/** Asks a route, and puts names in place of the ids in what it answers. */
async function ask(route: ManagementRoute, ids: Record<string, string>, key: string | null): Promise<Seen> {
  const pathname = route.path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? '')
  const takesBody = route.method !== 'GET' && route.method !== 'DELETE'
  const body = JSON.stringify(BODIES[nameOf(route)] ?? {})
  const response = await gateway.fetch(pathname, { method: route.method, key, ...(takesBody && { body }) })
  const varying = new Set(['date', 'x-request-id', 'request-id', ...RATE_HEADERS])
  const text = Object.entries(ids).reduce(
    (answer, [name, id]) => answer.replaceAll(id, `<${name}>`),
    await response.text(),
  )
  const headers = [...response.headers].filter(([name]) => !varying.has(name)).join('\n')
  return { status: response.status, headers, text }
}

/** Everything that is stored of keys and of money, as text. */
async function stored(): Promise<string[]> {
  const { rows } = await sql<{ row: string }>`
    select row from (
      select k::text as row from api_keys k union all select t::text from management_tokens t
      union all select p::text from provider_keys p union all select a::text from ledger_accounts a union all select e::text from ledger_entries e
    ) as everything order by row
  `.execute(database)
  return rows.map(({ row }) => row)
}

describe('every management route', () => {
  it('is in the document, with and without ids', () => {
    assert.ok(routes.some(NAMING) && routes.some(route => !NAMING(route)))
  })

  it('refuses API keys and strangers, whoever owns what they ask for, and changes nothing', async () => {
    for (const route of routes) {
      for (const [caller, owner] of pairs()) {
        const ids = await idsFor(route, owner)
        const before = await stored()
        for (const key of [caller.apiKey, owner.apiKey, null]) {
          const { status, text } = await ask(route, ids, key)
          assert.equal(status, 401, nameOf(route))
          assert.equal(JSON.parse(text).error.code, 'invalid_api_key')
          for (const mark of [...caller.marks, ...owner.marks])
            assert.ok(!text.includes(mark), `${nameOf(route)}: ${mark}`)
        }
        assert.deepEqual(await stored(), before, nameOf(route))
      }
    }
  })

  it('answers for another organization’s id as for one that never was, and changes nothing', async () => {
    for (const route of routes.filter(NAMING)) {
      for (const [caller, owner] of pairs()) {
        const ids = await idsFor(route, owner)
        const before = await stored()
        const foreign = await ask(route, ids, caller.token)
        assert.equal(foreign.status, 404, nameOf(route))
        assert.deepEqual(foreign, await ask(route, neverGiven(ids), caller.token), nameOf(route))
        assert.deepEqual(await stored(), before, nameOf(route))
      }
    }
  })

  it('serves the owner, and shows nothing of anyone else', async () => {
    for (const route of routes) {
      for (const [other, owner] of pairs()) {
        const { status, text } = await ask(route, await idsFor(route, owner), owner.token)
        assert.ok(status === 200 || status === 201, `${nameOf(route)}: ${status} ${text}`)
        for (const mark of other.marks) assert.ok(!text.includes(mark), `${nameOf(route)} shows ${mark}`)
      }
    }
  })

  it('reads on in a list only from what the caller owns', async () => {
    const [amber, birch] = tenants
    for (const [list, subject] of Object.entries({ 'api-keys': 'keyId', 'provider-keys': 'providerKeyId' })) {
      const id = String(await SUBJECTS[subject]?.(birch))
      const ask = (after: string) => manage(gateway, 'GET', `${list}?after=${after}`, { key: amber.token })
      const foreign = await ask(id)
      assert.equal(foreign.status, 400)
      assert.deepEqual(foreign, await ask(id.replace(/_.*$/, `_${'0'.repeat(24)}`)))
    }
  })
})

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { Fault } from '#core/fault.ts'
import { Vault } from '#lib/vault.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { openDatabase } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { createOrganization } from '../store.ts'
import type { OpenProviderKey, ProviderKey } from './provider-key.ts'
import { ProviderKeys } from './provider-keys.ts'
import { createProviderKey, disableProviderKey, findProviderKey, rotateProviderKey } from './store.ts'

const vault = new Vault('a secret of more than thirty-two characters')

describe('the provider keys of a workspace', () => {
  let testDatabase: TestDatabase
  let database: Database
  let providerKeys: ProviderKeys
  let amber: string
  let birch: string

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    const workspaces = await Promise.all(
      ['amber', 'birch'].map(name => run(transaction => createOrganization(transaction, { name, role: 'user' }))),
    )
    ;[amber = '', birch = ''] = workspaces.map(({ workspace }) => workspace.id)
  })

  after(() => testDatabase.drop())

  beforeEach(async () => {
    await sql`delete from provider_keys`.execute(database)
    providerKeys = serving(database)
  })

  const run = <T>(work: (transaction: DatabaseTransaction) => Promise<T>) => database.transaction().execute(work)

  function serving(from: Database): ProviderKeys {
    return new ProviderKeys({ database: from, vault, feedLagMs: () => 0, onDisabled: () => {}, onError: assert.fail })
  }

  function bring(workspaceId: string, secret: string): Promise<ProviderKey> {
    const settings = { models: undefined, upstreamModels: {}, priority: 0, fallback: 'none' } as const
    const input = { workspaceId, name: 'k', provider: 'openai', baseUrl: undefined, secret, ...settings }
    return run(transaction => createProviderKey(transaction, vault, input))
  }

  const secretsOf = async (workspaceId: string) => (await providerKeys.of(workspaceId)).map(({ secret }) => secret)

  it('are known without waiting and without a database the second time, and are nobody else’s', async () => {
    await bring(amber, 'sk-amber')
    await bring(birch, 'sk-birch')
    const ours = testDatabase.open()
    providerKeys = serving(ours)
    assert.ok(providerKeys.of(amber) instanceof Promise)
    assert.deepEqual(await secretsOf(amber), ['sk-amber'])
    assert.deepEqual(await secretsOf(birch), ['sk-birch'])
    await ours.destroy()
    const known = providerKeys.of(amber)
    assert.ok(!(known instanceof Promise))
    assert.deepEqual(
      known.map(({ secret }) => secret),
      ['sk-amber'],
    )
  })

  it('are read anew when they have changed, also while they were being read', async () => {
    const key = await bring(amber, 'sk-before')
    assert.deepEqual(await secretsOf(amber), ['sk-before'])
    await run(transaction => rotateProviderKey(transaction, vault, key, 'sk-after'))
    assert.deepEqual(await secretsOf(amber), ['sk-before'])
    providerKeys.forget(birch)
    assert.deepEqual(await secretsOf(amber), ['sk-before'])
    providerKeys.forget(amber)
    const reading = providerKeys.of(amber)
    providerKeys.forget(amber)
    await reading
    assert.ok(providerKeys.of(amber) instanceof Promise, 'what may be of before the change is not kept')
    assert.deepEqual(await secretsOf(amber), ['sk-after'])
  })

  it('do not open in each other’s place', async () => {
    const [one, other] = [await bring(amber, 'sk-amber'), await bring(birch, 'sk-birch')]
    await sql`
      update provider_keys p set secret = o.secret, secret_key_id = o.secret_key_id from provider_keys o
      where p.id in (${one.id}, ${other.id}) and o.id in (${one.id}, ${other.id}) and p.id <> o.id
    `.execute(database)
    assert.deepEqual(await secretsOf(amber), [undefined])
    assert.deepEqual(await secretsOf(birch), [undefined])
  })

  it('do not open when their row is given to another workspace', async () => {
    const { id } = await bring(amber, 'sk-amber')
    await sql`update provider_keys set workspace_id = ${birch} where id = ${id}`.execute(database)
    assert.deepEqual(await secretsOf(birch), [undefined])
  })

  it('are not disabled for what their former secret was refused for', async () => {
    const key = await bring(amber, 'sk-before')
    const open: OpenProviderKey = { ...key, secret: 'sk-before' }
    await run(transaction => rotateProviderKey(transaction, vault, key, 'sk-after'))
    const disable = () => run(transaction => disableProviderKey(transaction, vault, open, 'refused'))
    assert.equal(await disable(), false)
    assert.equal((await findProviderKey(database, amber, key.id))?.status, 'active')
    await run(transaction => rotateProviderKey(transaction, vault, key, 'sk-before'))
    assert.equal(await disable(), true)
    assert.equal((await findProviderKey(database, amber, key.id))?.status, 'disabled')
    assert.equal(await disable(), false, 'once')
  })

  it('cannot be said to be none while the database is away', async () => {
    const away = openDatabase({ url: 'postgres://127.0.0.1:9/nowhere' }, { connectionsMax: 1, onIdleError: () => {} })
    await assert.rejects(
      async () => serving(away).of(amber),
      (error: unknown) => error instanceof Fault && error.code === 'service_unavailable',
    )
    await away.destroy()
  })
})

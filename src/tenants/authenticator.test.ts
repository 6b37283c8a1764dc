import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { type Database, openDatabase } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { Authenticator } from './authenticator.ts'
import { CredentialHasher, mintCredential } from './credential.ts'
import { createApiKey, createManagementToken, createOrganization, revokeApiKey, setOrganizationRole } from './store.ts'

describe('authentication', () => {
  let testDatabase: TestDatabase
  let database: Database
  let authenticator: Authenticator
  let workspaceId: string
  let organizationId: string
  let feedLagMs: number
  const hasher = new CredentialHasher('a secret of more than thirty-two characters')

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    const created = await database
      .transaction()
      .execute(transaction => createOrganization(transaction, { name: 'acme', role: 'user' }))
    workspaceId = created.workspace.id
    organizationId = created.organization.id
  })

  after(() => testDatabase.drop())

  beforeEach(() => {
    feedLagMs = 0
    authenticator = new Authenticator({ database, hasher, feedLagMs: () => feedLagMs })
  })

  const newKey = (fields: { models?: string[]; expiresAt?: Date; requestsPerMinute?: number } = {}) =>
    database
      .transaction()
      .execute(transaction => createApiKey(transaction, hasher, { workspaceId, name: 'k', ...fields }))

  it('knows a caller by its key, without waiting the second time', async () => {
    const { id, credential } = await newKey({ models: ['a', 'b'], requestsPerMinute: 60 })
    const first = authenticator.inference(credential)
    assert.ok(first instanceof Promise)
    assert.deepEqual(await first, {
      keyId: id,
      workspaceId,
      organizationId,
      role: 'user',
      models: ['a', 'b'],
      isLimited: false,
      requestsPerMinute: 60,
      organizationRequestsPerMinute: undefined,
    })
    assert.ok(!(authenticator.inference(credential) instanceof Promise))
  })

  it('asks the database once for callers that come together', async () => {
    const { credential } = await newKey()
    assert.equal(authenticator.inference(credential) instanceof Promise, true)
    const [a, b] = await Promise.all([authenticator.inference(credential), authenticator.inference(credential)])
    assert.equal(a, b)
  })

  it('forgets a key that is said to have changed', async () => {
    const { id, credential } = await newKey()
    await authenticator.inference(credential)
    await database.transaction().execute(transaction => revokeApiKey(transaction, id))
    assert.ok(!(authenticator.inference(credential) instanceof Promise), 'not told yet')
    authenticator.forget(id)
    await assert.rejects(async () => authenticator.inference(credential), { code: 'expired_api_key' })
  })

  it('forgets all keys of an organization whose role has changed', async () => {
    const { credential } = await newKey()
    await authenticator.inference(credential)
    await database.transaction().execute(transaction => setOrganizationRole(transaction, organizationId, 'vip'))
    authenticator.forget(organizationId)
    assert.equal((await authenticator.inference(credential)).role, 'vip')
  })

  it('remembers that a key is unknown until something changes', async () => {
    const credential = mintCredential('sk')
    await assert.rejects(async () => authenticator.inference(credential), { code: 'invalid_api_key' })
    await sql`update api_keys set key_hash = key_hash where false`.execute(database)
    assert.throws(() => authenticator.inference(credential), { code: 'invalid_api_key' })
  })

  it('does not trust its memory for long while changes cannot be heard', async () => {
    const { credential } = await newKey()
    await authenticator.inference(credential)
    feedLagMs = 10_000
    await eventually('a doubt', () => (authenticator.inference(credential) instanceof Promise ? true : undefined))
  })

  it('refuses an expired key', async () => {
    const { credential } = await newKey({ expiresAt: new Date(Date.now() - 1_000) })
    await assert.rejects(async () => authenticator.inference(credential), { code: 'expired_api_key' })
  })

  it('never takes a management token for an API key, nor the other way round', async () => {
    const { credential: key } = await newKey()
    const { credential: token } = await database
      .transaction()
      .execute(transaction => createManagementToken(transaction, hasher, { workspaceId, name: 't' }))
    assert.throws(() => authenticator.inference(token), /management token cannot be used for inference/)
    assert.throws(() => authenticator.management(key), /API key cannot be used for management/)
    assert.throws(() => authenticator.management(`whsec_${'x'.repeat(40)}`), /webhook signing secret is no credential/)
    assert.equal((await authenticator.management(token)).workspaceId, workspaceId)
  })

  it('refuses garbage without asking the database', () => {
    const nowhere = openDatabase({ socketFolder: '/nonexistent' }, { connectionsMax: 1, onIdleError: () => {} })
    const blind = new Authenticator({ database: nowhere, hasher, feedLagMs: () => 0 })
    for (const garbage of [
      undefined,
      '',
      'sk-',
      `sk-${'a'.repeat(49)}`,
      "sk-' or 1=1 --",
      'ключ',
      'x'.repeat(10_000),
    ]) {
      assert.throws(() => blind.inference(garbage), { code: 'invalid_api_key' })
    }
  })

  it('says "not now" instead of "unknown" when the database is away', async () => {
    const nowhere = openDatabase({ socketFolder: '/nonexistent' }, { connectionsMax: 1, onIdleError: () => {} })
    const blind = new Authenticator({ database: nowhere, hasher, feedLagMs: () => 0 })
    await assert.rejects(async () => blind.inference(mintCredential('sk')), { code: 'service_unavailable' })
  })
})

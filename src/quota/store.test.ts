import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { parseUsd } from '#core/money.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createPayer } from '../../test/support/payer.ts'
import { addToLeases, beginTerm } from './store.ts'

describe('the leases of a key', () => {
  let testDatabase: TestDatabase
  let database: Database

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  it('reach its limit and no further, even for one who has not looked', async () => {
    const { organizationId, keyId } = await createPayer(database, { credit: '10', limit: '1' })
    await beginTerm(database, 'node_a')
    await beginTerm(database, 'node_b')
    const subject = { kind: 'key', id: keyId, organizationId } as const
    const lease = (nodeId: string, amount: string) =>
      database
        .transaction()
        .execute(transaction => addToLeases(transaction, nodeId, [{ subject, amount: parseUsd(amount) }]))
    await lease('node_a', '0.6')
    await assert.rejects(lease('node_b', '0.5'), /more than its key may spend/)
    await lease('node_b', '0.4')
    await assert.rejects(lease('node_a', '0.000000000001'), /more than its key may spend/)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { parseUsd } from '#core/money.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createPayer } from '../../test/support/payer.ts'
import { lockFunds, moveLeased } from './store.ts'

describe('an account', () => {
  let testDatabase: TestDatabase
  let database: Database

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  const lease = (organizationId: string, amount: string) =>
    database.transaction().execute(transaction => moveLeased(transaction, [{ organizationId, amount }]))

  it('leases what it has and no more, even to one who has not looked', async () => {
    const { organizationId } = await createPayer(database, { credit: '1' })
    await lease(organizationId, '0.6')
    await assert.rejects(lease(organizationId, '0.5'), /more than its account has/)
    await lease(organizationId, '0.4')
    await assert.rejects(lease(organizationId, '0.000000000001'), /more than its account has/)
  })

  it('shows its funds to one transaction at a time', async () => {
    const { organizationId } = await createPayer(database, { credit: '1' })
    await database.transaction().execute(async first => {
      const [funds] = await lockFunds(first, [organizationId])
      assert.equal(funds?.credited, parseUsd('1'))
      const second = database.transaction().execute(async transaction => {
        await sql`set local lock_timeout = '50ms'`.execute(transaction)
        await lockFunds(transaction, [organizationId])
      })
      await assert.rejects(second, { code: '55P03' })
    })
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { parseUsd } from '#core/money.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { usageRecord } from '../../test/support/usage-record.ts'
import { writeOff } from './store.ts'

describe('a record that Postgres refuses', () => {
  let testDatabase: TestDatabase
  let database: Database

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  it('is spending that its payers’ leases no longer wait to see posted', async () => {
    const record = usageRecord({ organization_id: 'org_a', api_key_id: 'key_a', cost: '0.25' })
    const { spent } = await writeOff(database, JSON.stringify(record), 'node_test')
    assert.deepEqual([...spent].toSorted(), [
      ['key_a', parseUsd('0.25')],
      ['org_a', parseUsd('0.25')],
    ])
  })
})

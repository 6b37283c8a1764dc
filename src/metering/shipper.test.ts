import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { openAccount } from '#ledger/store.ts'
import type { Database } from '#storage/database.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { createApiKey, createOrganization } from '#tenants/store.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { usageRecord } from '../../test/support/usage-record.ts'
import { Journal } from './journal/journal.ts'
import { ensurePartitions } from './partitions.ts'
import { Shipper } from './shipper.ts'
import { insertUsage } from './store.ts'

describe('shipping usage', () => {
  let testDatabase: TestDatabase
  let database: Database
  let folder: string
  let journal: Journal
  let shipper: Shipper
  let rejected: string[]
  let owner: { organization_id: string; workspace_id: string; api_key_id: string }

  beforeEach(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    await ensurePartitions(database, new Date(), new Date())
    owner = await createOwner(database)
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-shipper-'))
    journal = new Journal({ folder: path.join(folder, 'journal'), onError: () => {} })
    await journal.open()
    rejected = []
    shipper = new Shipper({
      journal,
      database,
      nodeId: 'node_test',
      quota: { post: run => run() },
      rejectedFile: path.join(folder, 'rejected.jsonl'),
      onShipped: () => {},
      onRejected: (_error, record) => rejected.push(record),
      onError: () => {},
    })
    shipper.start()
  })

  afterEach(async () => {
    await shipper.stop()
    await journal.close()
    await testDatabase.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const record = (fields: Record<string, unknown> = {}) => JSON.stringify(usageRecord({ ...owner, ...fields }))

  async function rows(): Promise<{ request_id: string; cost: string }[]> {
    const result = await sql<{ request_id: string; cost: string }>`
      select request_id, cost::text as cost from usage_events order by request_id
    `.execute(database)
    return result.rows
  }

  it('makes one row of a record, however often it is shipped', async () => {
    const text = record({ request_id: 'req_1', cost: '0.5' })
    await Promise.all([journal.append(text), journal.append(text)])
    await shipper.shipped()
    assert.equal((await insertUsage(database, `[${text}]`, 'node_test')).rows, 0)
    assert.deepEqual(await rows(), [{ request_id: 'req_1', cost: '0.500000000000' }])
    const { rows: sums } = await sql<Record<string, string>>`
      select (select sum(cost) from usage_hourly)::text as hourly, (select sum(cost) from usage_daily)::text as daily,
             (select used_amount from api_key_usage)::text as key,
             (select spent from ledger_accounts where id = ${owner.organization_id})::text as spent,
             (select sum(amount) from ledger_entries where account_id = 'revenue')::text as revenue
    `.execute(database)
    for (const [where, sum] of Object.entries(sums[0] ?? {})) assert.equal(Number(sum), 0.5, where)
  })

  it('sets aside a record that Postgres refuses, and ships all others', async () => {
    const bad = record({ request_id: 'req_bad', cost: '-1' })
    const texts = [
      record({ request_id: 'req_1' }),
      bad,
      record({ request_id: 'req_2' }),
      record({ request_id: 'req_3' }),
    ]
    await Promise.all(texts.map(text => journal.append(text)))
    await shipper.shipped()
    assert.deepEqual(
      (await rows()).map(row => row.request_id),
      ['req_1', 'req_2', 'req_3'],
    )
    assert.deepEqual(rejected, [bad])
    assert.equal(await readFile(path.join(folder, 'rejected.jsonl'), 'utf8'), `${bad}\n`)
  })

  it('makes the partition for a record of an older month', async () => {
    await journal.append(record({ request_id: 'req_old', created_at: '2024-02-29T23:59:59.999Z' }))
    await shipper.shipped()
    assert.deepEqual(
      (await rows()).map(row => row.request_id),
      ['req_old'],
    )
    assert.deepEqual(rejected, [])
  })

  it('sets aside a record from a month that no clock can be right about', async () => {
    await journal.append(record({ request_id: 'req_future', created_at: '2999-01-01T00:00:00.000Z' }))
    await journal.append(record({ request_id: 'req_now' }))
    await shipper.shipped()
    assert.deepEqual(
      (await rows()).map(row => row.request_id),
      ['req_now'],
    )
    assert.equal(rejected.length, 1)
  })

  it('does not deadlock when nodes ship for the same organizations at the same time', async () => {
    const other = await createOwner(database)
    const batch = (node: number, round: number) =>
      JSON.stringify(
        [owner, other, owner, other].map((each, i) =>
          usageRecord({ ...each, request_id: `req_${node}_${round}_${i}`, cost: '0.000000000001' }),
        ),
      )
    const nodes = Array.from({ length: 8 }, async (_, node) => {
      for (let round = 0; round < 10; round++) await insertUsage(database, batch(node, round), `node_${node}`)
    })
    await Promise.all(nodes)
    const { rows: spent } = await sql<{ spent: string }>`
      select spent::text as spent from ledger_accounts where kind = 'customer'
    `.execute(database)
    assert.deepEqual(
      spent.map(row => row.spent),
      ['0.000000000160', '0.000000000160'],
    )
  })
})

async function createOwner(database: Database) {
  return database.transaction().execute(async transaction => {
    const name = `org-${Math.random()}`
    const { organization, workspace } = await createOrganization(transaction, { name, role: 'user' })
    await openAccount(transaction, organization.id)
    const key = await createApiKey(transaction, new CredentialHasher('x'.repeat(32)), {
      workspaceId: workspace.id,
      name: 'k',
    })
    return { organization_id: organization.id, workspace_id: workspace.id, api_key_id: key.id }
  })
}

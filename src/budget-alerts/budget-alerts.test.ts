import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { parseUsd } from '#core/money.ts'
import { postCredit } from '#ledger/store.ts'
import { newId } from '#lib/ids.ts'
import { ensurePartitions } from '#metering/partitions.ts'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createPayer, type TestPayer } from '../../test/support/payer.ts'
import { usageRecord } from '../../test/support/usage-record.ts'
import { BudgetAlerts } from './budget-alerts.ts'
import type { BudgetAlert, Thresholds } from './store.ts'

describe('budget alerts', () => {
  let testDatabase: TestDatabase
  let database: Database
  let payer: TestPayer
  let told: BudgetAlert[]
  let thresholds: Thresholds

  beforeEach(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    await ensurePartitions(database, new Date(), new Date())
    payer = await createPayer(database, { credit: '20', limit: '5' })
    told = []
    thresholds = { balanceBelow: ['19', '17'], limitUsed: ['50%', '100%'] }
  })

  afterEach(() => testDatabase.drop())

  const node = () =>
    new BudgetAlerts({
      database,
      thresholds: () => thresholds,
      onAlert: alert => told.push(alert),
      onError: error => assert.fail(String(error)),
    })

  async function spend(cost: string): Promise<void> {
    const { organizationId: organization_id, workspaceId: workspace_id, keyId: api_key_id } = payer
    const record = usageRecord({ organization_id, workspace_id, api_key_id, cost })
    await insertUsage(database, JSON.stringify([record]), 'node_test')
  }

  async function credit(amount: string): Promise<void> {
    await database.transaction().execute(transaction =>
      postCredit(transaction, {
        organizationId: payer.organizationId,
        amount: parseUsd(amount),
        operationKey: newId('org'),
        reason: 'top-up',
      }),
    )
  }

  /** The thresholds told since the last time. */
  async function look(...nodes: BudgetAlerts[]): Promise<string[]> {
    await Promise.all(nodes.map(each => each.runOnce()))
    return told.splice(0).map(({ threshold }) => threshold)
  }

  it('say nothing while there is enough', async () => {
    await spend('1')
    assert.deepEqual(await look(node()), [])
  })

  it('tell a crossing with its figures', async () => {
    await spend('2.5')
    await node().runOnce()
    assert.deepEqual(told, [
      { kind: 'organization', organizationId: payer.organizationId, threshold: '19', balance: '17.5' },
      {
        kind: 'key',
        organizationId: payer.organizationId,
        keyId: payer.keyId,
        threshold: '50%',
        used: '2.5',
        limit: '5',
      },
    ])
  })

  it('tell each crossing once, on however many nodes', async () => {
    await spend('2.5')
    const nodes = [node(), node(), node(), node()]
    assert.deepEqual((await look(...nodes)).toSorted(), ['19', '50%'])
    assert.deepEqual(await look(...nodes), [])
    await spend('2.5')
    assert.deepEqual((await look(...nodes)).toSorted(), ['100%', '17'])
  })

  it('tell a crossing again after a top-up, or after the limit was raised', async () => {
    await spend('2.5')
    const looking = node()
    await look(looking)
    await credit('2')
    await sql`update api_keys set limit_amount = 6`.execute(database)
    assert.deepEqual(await look(looking), [])
    await spend('1')
    assert.deepEqual((await look(looking)).toSorted(), ['19', '50%'])
  })

  it('stay told after a top-up that is not enough', async () => {
    await spend('2.5')
    const looking = node()
    await look(looking)
    await credit('0.5')
    await spend('0.1')
    assert.deepEqual(await look(looking), [])
  })

  it('know nothing of organizations that never had credit, and of keys that are blocked or have no limit', async () => {
    await database.transaction().execute(async transaction => {
      await sql`insert into ledger_accounts (id, kind) values ('org_new', 'customer')`.execute(transaction)
    })
    await spend('2.5')
    await sql`update api_keys set status = 'inactive'`.execute(database)
    assert.deepEqual(await look(node()), ['19'])
    await sql`update api_keys set status = 'active', limit_amount = null`.execute(database)
    assert.deepEqual(await look(node()), [])
  })

  it('follow the configuration', async () => {
    await spend('2.5')
    thresholds = { balanceBelow: [], limitUsed: [] }
    assert.deepEqual(await look(node()), [])
    thresholds = { balanceBelow: ['18'], limitUsed: [] }
    assert.deepEqual(await look(node()), ['18'])
  })
})

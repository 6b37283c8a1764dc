import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { ensurePartitions } from '#metering/partitions.ts'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createPayer, type TestPayer } from '../../test/support/payer.ts'
import { usageRecord } from '../../test/support/usage-record.ts'
import { Reconciler } from './reconciler.ts'
import { type Difference, type Finding, readFindings } from './store.ts'

const NODE = 'node_test'
const HOUR_MS = 60 * 60_000

/** Ways in which books could come to disagree, and the invariants that each must break. */
const DAMAGES: readonly { what: string; damage: string; breaks: readonly string[] }[] = [
  {
    what: 'an entry without its counterpart',
    damage: `insert into ledger_entries (transaction_id, account_id, amount)
             select id, 'revenue', 1 from ledger_transactions where kind = 'credit'`,
    breaks: ['the entries of every ledger transaction sum to zero'],
  },
  {
    what: 'credit that no entry tells of',
    damage: `update ledger_accounts set credited = credited + 1 where kind = 'customer'`,
    breaks: ['credited of every account is the sum of its credits'],
  },
  {
    what: 'spending that no row tells of',
    damage: `update ledger_accounts set spent = spent + 1 where kind = 'customer'`,
    breaks: [
      'spent of every account is the sum of its spending',
      'spent of every account is the cost of its usage by day',
    ],
  },
  {
    what: 'a key that spent what no row tells of',
    damage: 'update api_key_usage set used_amount = used_amount + 1',
    breaks: ['used of every key is the cost of its usage by day'],
  },
  {
    what: 'a row that was lost',
    damage: `delete from usage_events where request_id = 'req_old'`,
    breaks: [
      'usage by hour of every key is the sum of its rows',
      'usage by hour of every organization is the sum of its rows',
    ],
  },
  {
    what: 'an hour of a key that was lost',
    damage: 'delete from usage_hourly',
    breaks: ['usage by hour of every key is the sum of its rows', 'usage by day of every key is the sum of its hours'],
  },
  {
    what: 'a day of an organization that was lost',
    damage: 'delete from usage_organization_daily',
    breaks: [
      'spent of every account is the cost of its usage by day',
      'usage by day of every organization is the sum of its hours',
    ],
  },
  {
    what: 'a hold that nobody has',
    damage: `update ledger_accounts set held = 1 where kind = 'customer'`,
    breaks: ['held of every account is the sum of its open holds'],
  },
  {
    what: 'what is leased to nobody',
    damage: `update ledger_accounts set leased = 1 where kind = 'customer'`,
    breaks: ['leased of every account is the sum of its leases'],
  },
  {
    what: 'what a key has leased to nobody',
    damage: 'update api_key_usage set leased = 1',
    breaks: ['leased of every key is the sum of its leases'],
  },
]

describe('reconciliation', () => {
  let testDatabase: TestDatabase
  let database: Database
  let payer: TestPayer
  let told: [string, Difference][]

  beforeEach(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    const longAgo = new Date(Date.now() - 3 * HOUR_MS)
    await ensurePartitions(database, longAgo, new Date())
    payer = await createPayer(database, { credit: '10', limit: '5' })
    await use('req_old', longAgo)
    await use('req_new', new Date())
    told = []
  })

  afterEach(() => testDatabase.drop())

  async function use(requestId: string, at: Date): Promise<void> {
    const record = usageRecord({
      request_id: requestId,
      created_at: at.toISOString(),
      organization_id: payer.organizationId,
      workspace_id: payer.workspaceId,
      api_key_id: payer.keyId,
      cost: '0.25',
    })
    await insertUsage(database, JSON.stringify([record]), NODE)
  }

  /** As somebody with the rights of the tables' owner could. */
  async function damage(statement: string): Promise<void> {
    await database.transaction().execute(async transaction => {
      await sql`set local session_replication_role = replica`.execute(transaction)
      await sql.raw(statement).execute(transaction)
    })
  }

  const broken = (findings: readonly Finding[]) =>
    findings.filter(({ differences }) => differences.length > 0).map(({ invariant }) => invariant)

  const reconciler = () =>
    new Reconciler({
      database,
      onDifference: (invariant, difference) => told.push([invariant, difference]),
      onError: error => assert.fail(String(error)),
    })

  it('finds nothing in books that agree, and says when that was', async () => {
    assert.deepEqual(broken(await readFindings(database, 'everything')), [])
    const looking = reconciler()
    const before = Date.now()
    await looking.runOnce()
    assert.equal(looking.verdict.differences, 0)
    assert.ok(Number(looking.verdict.succeededAt) >= before - 1_000)
    assert.deepEqual(told, [])
  })

  for (const { what, damage: statement, breaks } of DAMAGES) {
    it(`finds ${what}, the command and the background alike`, async () => {
      await damage(statement)
      assert.deepEqual(broken(await readFindings(database, 'everything')), breaks)
      const looking = reconciler()
      await looking.runOnce()
      assert.deepEqual([...new Set(told.map(([invariant]) => invariant))], breaks)
      assert.equal(looking.verdict.differences, told.length)
      assert.equal(looking.verdict.succeededAt, undefined)
    })
  }

  it('finds what is damaged after it has looked', async () => {
    const looking = reconciler()
    await looking.runOnce(0)
    await looking.runOnce(0)
    assert.deepEqual(told, [])
    await damage(`update ledger_accounts set credited = credited + 1, spent = spent + 1 where kind = 'customer'`)
    await looking.runOnce(0)
    assert.equal(looking.verdict.differences, 3)
    assert.equal(told.length, 3)
  })

  it('adds up old entries once, and is not deceived by one that appears late', async () => {
    await damage(`update ledger_entries set created_at = now() - interval '1 day'`)
    const looking = reconciler()
    await looking.runOnce(0)
    const { rows } = await sql`select credited::text, spent::text from reconciliation_marks`.execute(database)
    assert.deepEqual(rows, [{ credited: '10.000000000000', spent: '0.500000000000' }])
    await damage(`
      insert into ledger_transactions (id, kind, operation_key) values ('btx_late', 'credit', 'late');
      insert into ledger_entries (transaction_id, account_id, amount, created_at)
      values ('btx_late', '${payer.organizationId}', 1, now() - interval '1 day'),
             ('btx_late', 'funding', -1, now() - interval '1 day');
      update ledger_accounts set credited = credited + 1 where kind = 'customer'`)
    await looking.runOnce(0)
    assert.deepEqual(told, [])
    assert.equal(looking.verdict.differences, 0)
  })

  it('is the duty of one node at a time, and every node shows what was found', async () => {
    await damage(`update ledger_accounts set held = 1 where kind = 'customer'`)
    const [first, second] = [reconciler(), reconciler()]
    await Promise.all([first.runOnce(), second.runOnce()])
    await first.runOnce()
    await second.runOnce()
    assert.equal(told.length, 1)
    assert.equal(first.verdict.differences, 1)
    assert.equal(second.verdict.differences, 1)
  })

  it('tells of no more than a log can hold', async () => {
    await damage(`
      insert into ledger_accounts (id, kind, held) select 'org_' || i, 'customer', 1 from generate_series(1, 50) i`)
    const looking = reconciler()
    await looking.runOnce()
    assert.equal(told.length, 20)
    assert.equal(looking.verdict.differences, 50)
  })
})

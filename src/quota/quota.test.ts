import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { formatUsd, parseUsd } from '#core/money.ts'
import { newId } from '#lib/ids.ts'
import { ensurePartitions } from '#metering/partitions.ts'
import { insertUsage } from '#metering/store.ts'
import { ChangeFeed } from '#storage/changes.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createPayer, type TestPayer } from '../../test/support/payer.ts'
import { usageRecord } from '../../test/support/usage-record.ts'
import { Broker, TRUST_MS } from './broker.ts'
import { Hold } from './hold.ts'
import { Leases } from './leases.ts'
import { Quota } from './quota.ts'
import { readDrift } from './store.ts'

const OBSERVER = { granted: () => {}, waited: () => {}, refused: () => {} }

/** Comes back a few times when told to, as a client does: on a busy machine nodes give back too late for the first. */
async function admitWhenAsked(quota: Quota, payer: TestPayer, amount: bigint, comebacks = 10): Promise<Hold> {
  try {
    return await quota.admit(payer, amount)
  } catch (error) {
    if ((error as { retryable?: boolean }).retryable !== true || comebacks === 0) throw error
    return admitWhenAsked(quota, payer, amount, comebacks - 1)
  }
}

/** A node's dealings with the database alone: nothing is asked ahead, and nothing is regular. */
function newBroker(database: Database): { broker: Broker; leases: Leases; nodeId: string } {
  const leases = new Leases()
  const nodeId = newId('node')
  return { broker: new Broker({ database, nodeId, leases, trustMs: TRUST_MS, onGranted: () => {} }), leases, nodeId }
}

describe('quota', () => {
  let testDatabase: TestDatabase
  let database: Database
  const opened: { stop(): Promise<void> }[] = []

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
    await ensurePartitions(database, new Date(), new Date())
  })

  after(async () => {
    for (const each of opened) await each.stop()
    await testDatabase.drop()
  })

  async function startQuota(nodeId: string = newId('node'), from: Database = database): Promise<Quota> {
    const quota = new Quota({ database: from, nodeId, observer: OBSERVER, onError: () => {} })
    opened.push(quota)
    await quota.start()
    return quota
  }

  /** A node that hears what others announce. */
  async function startListening(nodeId: string): Promise<Quota> {
    const quota = await startQuota(nodeId)
    const feed = new ChangeFeed({
      database,
      address: { url: testDatabase.url },
      onChange: (topic, subject) => quota.heard(topic, subject),
      onError: () => {},
    })
    opened.push(feed)
    await feed.start()
    return quota
  }

  async function leasedOf({
    organizationId,
    keyId,
  }: TestPayer): Promise<{ account: string; key: string; rows: string }> {
    const { rows } = await sql<{ account: string; key: string; rows: string }>`
      select (select leased from ledger_accounts where id = ${organizationId}) as account,
             coalesce((select leased from api_key_usage where api_key_id = ${keyId}), 0) as key,
             coalesce((select sum(amount) from quota_leases where organization_id = ${organizationId}), 0) as rows
    `.execute(database)
    const { account, key, rows: sum } = rows[0] as { account: string; key: string; rows: string }
    return { account: usd(account), key: usd(key), rows: usd(sum) }
  }

  const usd = (text: string) => formatUsd(parseUsd(text))

  it('admits at once what a lease covers', async () => {
    const quota = await startQuota()
    const payer = await createPayer(database, { credit: '10', limit: '5' })
    const first = await quota.admit(payer, parseUsd('0.10'))
    first.settle(parseUsd('0.05'))
    const second = quota.admit(payer, parseUsd('0.10'))
    assert.ok(!(second instanceof Promise), 'the second one waits for nobody')
    second.release()
    assert.equal(await readDrift(database), 0n)
  })

  it('asks ahead, so that a busy payer need not wait', async () => {
    const quota = await startQuota()
    const payer = await createPayer(database, { credit: '1000' })
    let waited = 0
    for (let i = 0; i < 500; i++) {
      const admitted = quota.admit(payer, parseUsd('0.01'))
      if (admitted instanceof Promise) waited += 1
      const hold = await admitted
      hold.settle(parseUsd('0.01'))
      await nextTurn()
    }
    assert.ok(waited < 25, `${waited} of 500 requests had to wait`)
  })

  it('never grants more than there is, however many nodes ask at once, and in the end all of it', async () => {
    const payer = await createPayer(database, { credit: '1', limit: '0.70' })
    const quotas = await Promise.all(Array.from({ length: 5 }, () => startQuota()))
    const holds: Hold[] = []
    const refused: string[] = []
    await Promise.all(
      quotas.flatMap(quota =>
        Array.from({ length: 40 }, async () => {
          try {
            holds.push(await admitWhenAsked(quota, payer, parseUsd('0.01')))
          } catch (error) {
            refused.push((error as { code: string }).code)
          }
        }),
      ),
    )
    assert.ok(holds.length <= 70, `${holds.length} requests were admitted`)
    assert.ok(holds.length >= 69, `only ${holds.length} requests were admitted`)
    assert.equal(holds.length + refused.length, 200)
    assert.deepEqual([...new Set(refused)], ['quota_exceeded'])
    assert.equal(await readDrift(database), 0n)
    for (const hold of holds) hold.release()
    await Promise.all(quotas.map(quota => quota.leave()))
    assert.deepEqual(await leasedOf(payer), { account: '0', key: '0', rows: '0' })
  })

  it('says how much is missing, and that coming back is of no use', async () => {
    const quota = await startQuota()
    const payer = await createPayer(database, { credit: '0.25' })
    await assert.rejects(async () => quota.admit(payer, parseUsd('0.50')), {
      code: 'insufficient_balance',
      retryable: false,
      hints: {
        balanceUsd: '0.25',
        estimatedCostUsd: '0.5',
        hint: 'Add credit, or lower the output tokens that the request allows.',
      },
    })
  })

  it('says that money is held by other requests, and to come back', async () => {
    const quota = await startQuota()
    const payer = await createPayer(database, { credit: '1' })
    const hold = await quota.admit(payer, parseUsd('0.8'))
    await assert.rejects(async () => quota.admit(payer, parseUsd('0.5')), {
      code: 'insufficient_balance',
      retryable: true,
      message: 'The balance of 1 USD is held by other requests under way; retry shortly.',
    })
    const waiting = quota.admit(payer, parseUsd('0.5'))
    hold.release()
    assert.equal((await waiting).amount, parseUsd('0.5'))
  })

  it('tells the limit of a key from the balance of its organization', async () => {
    const quota = await startQuota()
    const payer = await createPayer(database, { credit: '100', limit: '0.25' })
    await assert.rejects(async () => quota.admit(payer, parseUsd('0.50')), { code: 'quota_exceeded', status: 402 })
    const poor = await createPayer(database, { credit: '0.10', limit: '100' })
    await assert.rejects(async () => quota.admit(poor, parseUsd('0.50')), { code: 'insufficient_balance', status: 402 })
  })

  it('gets from other nodes what they do not use', async () => {
    const [one, other] = [await startListening(newId('node')), await startListening(newId('node'))]
    const payer = await createPayer(database, { credit: '1' })
    const hold = await one.admit(payer, parseUsd('0.9'))
    hold.settle(0n)
    assert.equal((await leasedOf(payer)).account, '0.9')
    const admitted = await other.admit(payer, parseUsd('0.95'))
    assert.equal(admitted.amount, parseUsd('0.95'))
    assert.equal(await readDrift(database), 0n)
  })

  it('shrinks leases by what is posted, once, and never below nothing', async () => {
    const { broker, leases, nodeId } = newBroker(database)
    const payer = await createPayer(database, { credit: '1', limit: '1' })
    const owner = { organization_id: payer.organizationId, workspace_id: payer.workspaceId, api_key_id: payer.keyId }
    const both = [leases.ofOrganization(payer.organizationId), leases.ofKey(payer.keyId, payer.organizationId)]
    for (const lease of both) await broker.ask(lease, parseUsd('0.3'))
    const granted = both.map(lease => lease.granted)
    const post = (cost: string, requestId: string) => {
      const record = usageRecord({ ...owner, cost, request_id: requestId })
      return broker.post(() => insertUsage(database, JSON.stringify([record]), nodeId))
    }
    const hold = new Hold(both)
    hold.tryAdd(parseUsd('0.3'))
    hold.settle(parseUsd('0.2'))
    await post('0.2', 'req_1')
    assert.deepEqual(
      both.map(lease => lease.granted),
      granted.map(amount => amount - parseUsd('0.2')),
    )
    assert.equal((await leasedOf(payer)).account, formatUsd(both[0]?.granted ?? 0n))
    assert.equal((await leasedOf(payer)).key, formatUsd(both[1]?.granted ?? 0n))
    await post('0.75', 'req_2')
    assert.deepEqual(await leasedOf(payer), { account: '0', key: '0', rows: '0' })
    assert.equal(await readDrift(database), 0n)
  })

  it('takes note of a posting whose confirmation was lost when it is repeated', async () => {
    const { broker, leases, nodeId } = newBroker(database)
    const payer = await createPayer(database, { credit: '1' })
    const lease = leases.ofOrganization(payer.organizationId)
    await broker.ask(lease, parseUsd('0.3'))
    const { granted } = lease
    const owner = { organization_id: payer.organizationId, workspace_id: payer.workspaceId, api_key_id: payer.keyId }
    const records = JSON.stringify([usageRecord({ ...owner, cost: '0.2' })])
    const hold = new Hold([lease])
    hold.tryAdd(parseUsd('0.3'))
    hold.settle(parseUsd('0.2'))
    await assert.rejects(
      broker.post(async () => {
        await insertUsage(database, records, nodeId)
        throw new Error('the connection broke')
      }),
    )
    assert.equal(lease.free, granted - parseUsd('0.2'))
    await broker.post(() => insertUsage(database, records, nodeId))
    assert.equal(lease.granted, granted - parseUsd('0.2'))
    assert.equal(lease.free, lease.granted)
    assert.equal(formatUsd(lease.granted), (await leasedOf(payer)).account)
  })

  it('gives back at the next start what a killed process had leased', async () => {
    const nodeId = newId('node')
    const killed = await startQuota(nodeId)
    const payer = await createPayer(database, { credit: '1' })
    await killed.admit(payer, parseUsd('0.9'))
    const successor = await startQuota(nodeId)
    assert.equal((await leasedOf(payer)).account, '0')
    assert.equal((await successor.admit(payer, parseUsd('0.9'))).amount, parseUsd('0.9'))
  })

  it('goes on with the leases in hand while the database is away, and then says "not now"', async () => {
    const doomed = openDatabase({ url: testDatabase.url }, { connectionsMax: 2, onIdleError: () => {} })
    const quota = await startQuota(newId('node'), doomed)
    const payer = await createPayer(database, { credit: '10' })
    const hold = await quota.admit(payer, parseUsd('0.1'))
    hold.release()
    await doomed.destroy()
    const holds: Hold[] = []
    await assert.rejects(
      async () => {
        for (let i = 0; i < 1_000; i++) holds.push(await quota.admit(payer, parseUsd('0.1')))
      },
      { code: 'service_unavailable', retryable: true },
    )
    assert.ok(holds.length > 0)
    assert.ok(BigInt(holds.length) * parseUsd('0.1') <= parseUsd((await leasedOf(payer)).account))
  })

  it('spends nothing of its leases in an outage that is longer than its trust, and all of them after it', async () => {
    const quota = new Quota({ database, nodeId: newId('node'), observer: OBSERVER, trustMs: 500, onError: () => {} })
    opened.push(quota)
    const payer = await createPayer(database, { credit: '1' })
    await quota.start()
    const first = await quota.admit(payer, parseUsd('0.1'))
    first.release()
    const outage = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const away = database.transaction().execute(async transaction => {
      await sql`lock table quota_nodes`.execute(transaction)
      locked.resolve()
      await outage.promise
    })
    await locked.promise
    const waiting = await eventually('the end of trust', () => {
      const hold = quota.admit(payer, parseUsd('0.1'))
      if (!(hold instanceof Hold)) return [hold]
      hold.release()
      return undefined
    })
    await assert.rejects(waiting[0] as Promise<Hold>, { code: 'service_unavailable', retryable: true })
    outage.resolve()
    await away
    const hold = await eventually('the database', () => quota.admit(payer, parseUsd('0.1')))
    hold.release()
    assert.equal(await readDrift(database), 0n)
  })
})

describe('a node that is silent', () => {
  let testDatabase: TestDatabase
  let database: Database

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  it('is buried by one who could have heard it, and is then out of its leases', async () => {
    const payer = await createPayer(database, { credit: '1' })
    const { broker: silent, leases } = newBroker(database)
    const lease = leases.ofOrganization(payer.organizationId)
    await silent.ask(lease, parseUsd('0.8'))
    assert.equal(lease.free, parseUsd('0.8'))

    const { broker: living } = newBroker(database)
    await sql`update quota_nodes set seen_at = now() - interval '1 hour'`.execute(database)
    await living.bury(60_000)
    assert.notEqual(await totalLeased(), '0', 'one that has just begun to listen is no judge')
    await eventually('the burial', async () => {
      await living.bury(50)
      return (await totalLeased()) === '0' || undefined
    })
    assert.equal(await readDrift(database), 0n)

    const heir = newBroker(database)
    const inherited = heir.leases.ofOrganization(payer.organizationId)
    await heir.broker.ask(inherited, parseUsd('0.9'))
    assert.equal(inherited.free, parseUsd('0.9'))
    await silent.renew()
    assert.equal(lease.granted, 0n, 'who comes back from the dead has nothing')
    assert.equal(await readDrift(database), 0n)
  })

  it('learns when it shows itself that a successor on its data folder has given everything back', async () => {
    const payer = await createPayer(database, { credit: '1' })
    const { broker, leases, nodeId } = newBroker(database)
    const lease = leases.ofOrganization(payer.organizationId)
    await broker.ask(lease, parseUsd('0.8'))
    const successor = new Quota({ database, nodeId, observer: OBSERVER, onError: () => {} })
    await successor.start()
    await successor.stop()
    await broker.renew()
    assert.equal(lease.granted, 0n)
  })

  it('cannot be granted anything in a term that has ended', async () => {
    const payer = await createPayer(database, { credit: '1' })
    const { broker, leases } = newBroker(database)
    const lease = leases.ofOrganization(payer.organizationId)
    await broker.ask(lease, parseUsd('0.1'))
    await sql`update quota_nodes set epoch = nextval('quota_epochs')`.execute(database)
    await assert.rejects(broker.ask(lease, parseUsd('0.5')), /taken for abandoned/)
    await broker.ask(lease, parseUsd('0.5'))
    assert.equal(await readDrift(database), 0n)
    assert.ok(lease.free >= parseUsd('0.5'))
  })

  async function totalLeased(): Promise<string> {
    const { rows } = await sql<{ amount: string }>`
      select coalesce(sum(amount), 0) as amount from quota_leases
    `.execute(database)
    return formatUsd(parseUsd(rows[0]?.amount ?? '0'))
  }
})

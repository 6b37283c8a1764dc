import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { insertUsage } from '#metering/store.ts'
import type { Database } from '#storage/database.ts'
import { runCommand } from '../support/command.ts'
import { commandBeside } from '../support/credentials.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { usageRecord } from '../support/usage-record.ts'

let gateway: Gateway
let database: Database

before(async () => {
  gateway = await Gateway.start()
  assert.ok(gateway.database)
  database = gateway.database.open()
})

after(() => gateway.stop())

const credit = (...words: string[]) => commandBeside(gateway, 'credit', ...words)

async function balance(): Promise<Record<string, unknown>> {
  const { status, body } = await manage(gateway, 'GET', 'balance')
  assert.equal(status, 200)
  return body
}

async function spend(cost: string): Promise<void> {
  const { rows } = await sql<{ organization_id: string; workspace_id: string }>`
    select w.organization_id, w.id as workspace_id from api_keys k join workspaces w on w.id = k.workspace_id
    where k.id = ${gateway.apiKeyId}
  `.execute(database)
  await insertUsage(
    database,
    JSON.stringify([usageRecord({ ...rows[0], api_key_id: gateway.apiKeyId, cost })]),
    'node_test',
  )
}

describe('the balance of an organization', () => {
  it('is what was credited less what was spent, to the last digit', async () => {
    await spend('0.000000000001')
    const { organization_id, ...amounts } = await balance()
    assert.match(String(organization_id), /^org_/)
    assert.deepEqual(amounts, {
      object: 'organization_balance',
      currency: 'USD',
      available: 99.999999999999,
      available_decimal: '99.999999999999',
      credited: 100,
      credited_decimal: '100',
      spent: 0.000000000001,
      spent_decimal: '0.000000000001',
      held: 0,
      held_decimal: '0',
    })
  })

  it('moves with what the operator adds and takes back', async () => {
    const before = await balance()
    assert.equal(before.available_decimal, '99.999999999999')
    assert.equal(
      await credit('add', 'default', '25.50', '--reason', 'invoice 7'),
      'default had 99.999999999999 USD and has 125.499999999999 USD.\n',
    )
    assert.equal(
      await credit('adjust', 'default', '-20.50', '--reason', 'paid twice'),
      'default had 125.499999999999 USD and has 104.999999999999 USD.\n',
    )
    assert.equal(await credit('show', 'default'), 'default has 104.999999999999 USD.\n')
    const { available_decimal, credited_decimal } = await balance()
    assert.deepEqual([available_decimal, credited_decimal], ['104.999999999999', '105'])
  })

  it('moves once for a key, however often it is tried, and never for another amount under the same key', async () => {
    const add = (amount: string) => credit('add', 'default', amount, '--once', 'order-42')
    assert.match(await add('5'), /^default had 104\.9+ USD and has 109\.9+ USD\.$/m)
    assert.equal(await add('5.00'), 'This was done before. default has 109.999999999999 USD.\n')
    await assert.rejects(add('6'), /was used before, for another organization or amount/)
    assert.equal((await balance()).credited_decimal, '110')
  })

  it('cannot be corrected by more than there ever was, nor without a reason', async () => {
    await assert.rejects(credit('adjust', 'default', '-110.01', '--reason', 'x'), /More would be taken back/)
    const { code, errors } = await runCommand(['credit', 'adjust', 'default', '-1'], {})
    assert.equal(code, 1)
    assert.match(errors, /--reason/)
    await assert.rejects(credit('add', 'default', '-1'), /"-1" is no amount/)
    await assert.rejects(credit('add', 'nobody', '1'), /There is no organization "nobody"/)
    const { rows } = await sql<{ sum: string }>`select sum(amount)::text from ledger_entries`.execute(database)
    assert.equal(Number(rows[0]?.sum), 0)
    assert.equal((await balance()).credited_decimal, '110')
  })
})

describe('the entries of the ledger', () => {
  it('tell every movement with its reason, newest first', async () => {
    const { status, body } = await manage(gateway, 'GET', 'ledger-entries')
    assert.equal(status, 200)
    const { rows: usage } = await sql<{ id: string }>`
      select distinct billing_transaction_id as id from usage_events
    `.execute(database)
    assert.deepEqual(
      body.data.map(({ kind, amount_decimal, amount, reason }: Record<string, unknown>) => [
        kind,
        amount_decimal,
        amount,
        reason,
      ]),
      [
        ['credit', '5', 5, 'added by the operator'],
        ['adjustment', '-20.5', -20.5, 'paid twice'],
        ['credit', '25.5', 25.5, 'invoice 7'],
        ['usage', '-0.000000000001', -0.000000000001, null],
        ['credit', '100', 100, 'credit of the first start'],
      ],
    )
    assert.equal(body.data[3].billing_transaction_id, usage[0]?.id)
    const times = body.data.map(({ created_at }: { created_at: string }) => created_at)
    assert.deepEqual(times, times.toSorted().toReversed())
  })

  it('are read on from any of them, each once', async () => {
    for (let i = 0; i < 20; i++) await spend('0.5')
    const whole = (await manage(gateway, 'GET', 'ledger-entries?limit=100')).body
    assert.equal(whole.has_more, false)
    const seen: unknown[] = []
    for (let after = ''; ; ) {
      const { body } = await manage(gateway, 'GET', `ledger-entries?limit=7${after}`)
      seen.push(...body.data)
      if (!body.has_more) break
      after = `&after=${body.data.at(-1).billing_transaction_id}`
    }
    assert.deepEqual(seen, whole.data)
    assert.equal(seen.length, 25)
    const unknown = await manage(gateway, 'GET', 'ledger-entries?after=btx_000000000000000000000000')
    assert.deepEqual([unknown.status, unknown.body.error.param], [400, 'after'])
  })
})

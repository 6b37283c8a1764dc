import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import { formatUsd, parseUsd } from '#core/money.ts'
import { readFindings } from '#reconciliation/store.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { createPayer } from '../../../test/support/payer.ts'
import { closeHold, expireHolds, type HoldEnding, placeHold, renewHold } from './store.ts'

const HOUR_MS = 3_600_000

describe('a durable hold', () => {
  let testDatabase: TestDatabase
  let database: Database
  let organizationId: string
  let operations = 0

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  beforeEach(async () => {
    organizationId = (await createPayer(database, { credit: '1' })).organizationId
  })

  const place = (usd: string, { operationKey = `task:${operations++}`, livesMs = HOUR_MS } = {}) =>
    database.transaction().execute(transaction =>
      placeHold(transaction, {
        organizationId,
        amount: parseUsd(usd),
        operationKey,
        expiresAt: new Date(Date.now() + livesMs),
      }),
    )
  const close = (id: string, ending: HoldEnding) =>
    database.transaction().execute(transaction => closeHold(transaction, id, ending))

  async function held(): Promise<string> {
    const { rows } = await sql<{ held: string }>`
      select trim_scale(held)::text as held from ledger_accounts where id = ${organizationId}
    `.execute(database)
    return rows[0]?.held ?? ''
  }

  async function assertBooksAgree(): Promise<void> {
    const findings = await readFindings(database, 'everything')
    assert.deepEqual(
      findings.flatMap(({ differences }) => differences),
      [],
    )
  }

  it('is taken out of what is available until it is ended, and then once', async () => {
    const hold = await place('0.7')
    assert.ok(hold?.isNew)
    assert.equal(await held(), '0.7')
    assert.equal(await place('0.4'), undefined)
    assert.equal(await close(hold.id, 'released'), true)
    assert.equal(await held(), '0')
    assert.equal(await close(hold.id, 'settled'), false)
    assert.ok(await place('1'))
    await assertBooksAgree()
  })

  it('is placed once for an operation, however often that is tried, also after it has ended', async () => {
    const first = await place('0.3', { operationKey: 'task:same' })
    const repeats = await Promise.all([1, 2, 3].map(() => place('0.3', { operationKey: 'task:same' })))
    for (const repeat of repeats) assert.deepEqual([repeat?.id, repeat?.isNew], [first?.id, false])
    assert.equal(await held(), '0.3')
    await close(first?.id ?? '', 'settled')
    assert.equal((await place('0.3', { operationKey: 'task:same' }))?.state, 'settled')
    assert.equal(await held(), '0')
  })

  it('never exceeds what there is, however many ask at once', async () => {
    const placed = await Promise.all(Array.from({ length: 40 }, () => place('0.07')))
    assert.equal(placed.filter(Boolean).length, 14)
    assert.equal(await held(), formatUsd(14n * parseUsd('0.07')))
    await assertBooksAgree()
  })

  it('is ended by exactly one of those who try', async () => {
    const hold = await place('0.5', { livesMs: -1 })
    const endings = await Promise.all([
      close(hold?.id ?? '', 'settled'),
      close(hold?.id ?? '', 'released'),
      close(hold?.id ?? '', 'settled'),
      expireHolds(database).then(expired => expired === 1),
    ])
    assert.equal(endings.filter(Boolean).length, 1)
    assert.equal(await held(), '0')
    await assertBooksAgree()
  })

  it('is given up when nobody has come back for it, and kept when somebody has', async () => {
    const [left, kept] = [await place('0.2', { livesMs: -1 }), await place('0.3', { livesMs: -1 })]
    const later = new Date(Date.now() + HOUR_MS)
    const renew = (id = '') => database.transaction().execute(transaction => renewHold(transaction, id, later))
    assert.equal(await renew(kept?.id), true)
    assert.equal(await expireHolds(database), 1)
    assert.equal(await held(), '0.3')
    assert.equal(await renew(left?.id), false)
    assert.equal(await expireHolds(database), 0)
  })

  it('is undone with the transaction that placed it', async () => {
    const failing = database.transaction().execute(async transaction => {
      const expiresAt = new Date(Date.now() + HOUR_MS)
      await placeHold(transaction, { organizationId, amount: parseUsd('0.5'), operationKey: 'task:undone', expiresAt })
      throw new Error('the task could not be created')
    })
    await assert.rejects(failing, /could not be created/)
    assert.equal(await held(), '0')
    assert.ok(await place('1', { operationKey: 'task:undone' }))
  })

  it('cannot be changed or reopened behind the gateway’s back', async () => {
    const hold = await place('0.5')
    const change = (what: string) =>
      sql`update ledger_holds set ${sql.raw(what)} where id = ${hold?.id}`.execute(database)
    await assert.rejects(change('amount = 0.1'), /another one/)
    await close(hold?.id ?? '', 'released')
    await assert.rejects(change("state = 'open', closed_at = null"), /is closed/)
  })
})

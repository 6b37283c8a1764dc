import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'

describe('a connection that is cut between two statements of a transaction', () => {
  it('fails the transaction, and nothing else', async () => {
    const testDatabase = await createTestDatabase()
    const [database, other] = [testDatabase.open(), testDatabase.open()]
    const transaction = database.transaction().execute(async transaction => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction)
      const pid = rows[0]?.pid ?? 0
      await sql`select pg_terminate_backend(${pid})`.execute(other)
      await eventually('the end of the connection', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity where pid = ${pid}`.execute(other)
        return rows.length === 0 || undefined
      })
      await sql`select 1`.execute(transaction)
    })
    await assert.rejects(transaction)
    const { rows } = await sql<{ one: number }>`select 1 as one`.execute(database)
    assert.equal(rows[0]?.one, 1)
    await testDatabase.drop()
  })
})

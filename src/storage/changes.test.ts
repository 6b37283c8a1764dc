import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { announceChange, ChangeFeed } from './changes.ts'
import type { Database } from './database.ts'

describe('the change feed', () => {
  let testDatabase: TestDatabase
  let database: Database

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(() => testDatabase.drop())

  async function follow(run: (heard: string[], feed: ChangeFeed) => Promise<void>): Promise<void> {
    const heard: string[] = []
    const feed = new ChangeFeed({
      database,
      address: { url: testDatabase.url },
      onChange: (topic, subject) => heard.push(`${topic}:${subject}`),
      onError: () => {},
    })
    await feed.start()
    try {
      await run(heard, feed)
    } finally {
      await feed.stop()
    }
  }

  it('tells of a change when it is committed, and once', async () => {
    await follow(async heard => {
      await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'a'))
      await eventually('the news', () => heard[0])
      await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'b'))
      await eventually('more news', () => heard[1])
      assert.deepEqual(heard, ['thing:a', 'thing:b'])
    })
  })

  it('says nothing of what happened before it started or was rolled back', async () => {
    await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'old'))
    await follow(async heard => {
      await assert.rejects(
        database.transaction().execute(async transaction => {
          await announceChange(transaction, 'thing', 'undone')
          throw new Error('changed my mind')
        }),
      )
      await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'done'))
      await eventually('the news', () => heard[0])
      assert.deepEqual(heard, ['thing:done'])
    })
  })

  it('finds a change whose notification was lost', async () => {
    await follow(async heard => {
      await sql`insert into changes (topic, subject) values ('thing', 'quiet')`.execute(database)
      await eventually('the news', () => heard[0])
      assert.deepEqual(heard, ['thing:quiet'])
    })
  })

  it('finds a change that was committed after younger ones had been read', async () => {
    await follow(async heard => {
      const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>()
      const { promise: isWritten, resolve: written } = Promise.withResolvers<void>()
      const slow = database.transaction().execute(async transaction => {
        await announceChange(transaction, 'thing', 'slow')
        written()
        await mayCommit
      })
      await isWritten
      await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'fast'))
      await eventually('the fast one', () => heard[0])
      commit()
      await slow
      await eventually('the slow one', () => heard[1])
      assert.deepEqual(heard, ['thing:fast', 'thing:slow'])
    })
  })

  it('listens again after its connection was cut', async () => {
    await follow(async (heard, feed) => {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query = 'listen tollgate_changes'
      `.execute(database)
      await eventually('a fresh look', () => (feed.lagMs < 500 ? true : undefined))
      await database.transaction().execute(transaction => announceChange(transaction, 'thing', 'after'))
      await eventually('the news', () => heard[0])
      assert.deepEqual(heard, ['thing:after'])
    })
  })
})

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Database, openDatabase } from '#storage/database.ts'

const TEMPLATE = 'tollgate'

export interface TestDatabase {
  readonly url: string
  readonly name: string
  open(): Database
  drop(): Promise<void>
}

/** A fresh copy of the migrated template on the run's Postgres server. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await maintain(`create database ${name} template ${TEMPLATE}`)
  const url = urlOf(name)
  const opened: Database[] = []
  return {
    url,
    name,
    open: () => {
      const database = openDatabase({ url }, { connectionsMax: 4, onIdleError: () => {} })
      opened.push(database)
      return database
    },
    drop: async () => {
      await Promise.all(opened.map(database => database.destroy().catch(() => {})))
      await maintain(`drop database if exists ${name} with (force)`)
    },
  }
}

function urlOf(name: string): string {
  const template = process.env.TEST_DATABASE_URL
  if (!template) throw new Error('TEST_DATABASE_URL is not set: run the tests with "npm test"')
  const url = new URL(template)
  url.pathname = `/${name}`
  return url.href
}

/** Copies of one template cannot be made at the same time; who comes second tries again. */
async function maintain(statement: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ connectionString: urlOf('postgres') })
    await client.connect()
    try {
      await client.query(statement)
      return
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || attempt > 200) throw error
    } finally {
      await client.end()
    }
  }
}

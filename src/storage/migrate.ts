import { readdir, readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Database } from './database.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

/**
 * Brings the schema up to date: the SQL files of `migrations/`, in the order of their names, each once. Kysely's
 * migrator takes a lock, so of several nodes that start together one does it and the others wait.
 *
 * @returns names of the migrations that were applied now
 * @throws the database's error, with the migration's name in its message
 */
export async function migrate(database: Database): Promise<string[]> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: readMigrations },
    migrationTableName: 'schema_migrations',
    migrationLockTableName: 'schema_migrations_lock',
  })
  const applied: string[] = []
  for (;;) {
    // One at a time, each in a transaction of its own: what an early one locks is not kept from nodes that still run
    // while a later one reads a long history.
    const { error, results = [] } = await migrator.migrateUp()
    if (error) {
      const failed = results.find(result => result.status === 'Error')
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`migration ${failed?.migrationName ?? '(none begun)'} failed: ${reason}`, { cause: error })
    }
    if (results.length === 0) return applied
    applied.push(...results.map(result => result.migrationName))
  }
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const names = (await readdir(FOLDER)).filter(name => name.endsWith('.sql')).toSorted()
  const entries = await Promise.all(
    names.map(async name => {
      const text = await readFile(new URL(name, FOLDER), 'utf8')
      const migration: Migration = { up: async db => void (await sql.raw(text).execute(db)) }
      return [name.replace(/\.sql$/, ''), migration] as const
    }),
  )
  return Object.fromEntries(entries)
}

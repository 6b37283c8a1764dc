import { createHash, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { ConfigError } from './config/config-error.ts'

/** The installation's secret: as configured, or generated into the data folder the first time. */
export async function loadSecret(configured: string | undefined, dataFolder: string): Promise<string> {
  if (configured !== undefined) return configured
  const file = path.join(dataFolder, 'secret')
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secret = randomBytes(32).toString('hex')
  await writeFile(file, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  return secret
}

/**
 * Makes sure that this database was set up with this secret. With another one every key would be refused as unknown,
 * which looks like data loss; saying so at the start is kinder.
 *
 * @throws ConfigError
 */
export async function guardSecret(database: Database, secret: string): Promise<void> {
  const fingerprint = createHash('sha256').update(`tollgate secret fingerprint ${secret}`).digest('hex')
  await sql`
    insert into installation (name, value) values ('secret_fingerprint', ${fingerprint}) on conflict do nothing
  `.execute(database)
  const { rows } = await sql<{ value: string }>`
    select value from installation where name = 'secret_fingerprint'
  `.execute(database)
  if (rows[0]?.value === fingerprint) return
  throw new ConfigError(
    'This database was set up with another TOLLGATE_SECRET. Set TOLLGATE_SECRET to the one it was set up with ' +
      '(the file `secret` in the data folder of the first node).',
  )
}

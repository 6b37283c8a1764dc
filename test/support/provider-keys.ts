import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { commandBeside, createKey, createToken } from './credentials.ts'
import type { Gateway } from './gateway.ts'
import { manage } from './management.ts'

/** An organization of its own: who pays, who manages, who asks. */
export interface TestTenant {
  readonly name: string
  readonly apiKey: string
  readonly apiKeyId: string
  readonly token: string
}

export async function createTenant(gateway: Gateway, name: string, credit?: string): Promise<TestTenant> {
  await commandBeside(gateway, 'orgs', 'create', name)
  if (credit !== undefined) await commandBeside(gateway, 'credit', 'add', name, credit)
  const [key, token] = await Promise.all([createKey(gateway, '--org', name), createToken(gateway, '--org', name)])
  return { name, apiKey: key.credential, apiKeyId: key.id, token: token.credential }
}

/** Brings a provider's key as a tenant. @returns its id. @throws when it is refused */
export async function bringKey(gateway: Gateway, token: string, body: Record<string, unknown>): Promise<string> {
  const answer = await manage(gateway, 'POST', 'provider-keys', { key: token, body })
  if (answer.status !== 201) throw new Error(`provider key: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.id
}

/** Every row of every table as text: what a dump would show. */
export async function dump(database: Database): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
  `.execute(database)
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.raw(name)} t`.execute(database)
    texts.push(...rows.map(({ row }) => row))
  }
  return texts.join('\n')
}

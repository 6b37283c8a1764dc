import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { createManagementToken } from '#tenants/store.ts'
import type { Gateway } from './gateway.ts'
import { manage } from './management.ts'
import { createPayer, type TestPayer } from './payer.ts'

/** Who pays, who manages, who asks. */
export interface TestTenant extends TestPayer {
  readonly token: string
}

/** An organization of its own. @param secret what the gateway hashes credentials with */
export async function createTenant(database: Database, money: { credit: string; secret: string }): Promise<TestTenant> {
  const payer = await createPayer(database, money)
  const { credential } = await database
    .transaction()
    .execute(transaction =>
      createManagementToken(transaction, new CredentialHasher(money.secret), { ...payer, name: 't' }),
    )
  return { ...payer, token: credential }
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

import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import { parseUsd } from '#core/money.ts'
import { postCredit } from '#ledger/store.ts'
import type { Database } from '#storage/database.ts'
import type { CredentialHasher } from '#tenants/credential.ts'
import { countOrganizations, createApiKey, createManagementToken } from '#tenants/store.ts'
import { newOrganization } from './new-organization.ts'

/** What `credentials.json` in the data folder holds. */
export interface Credentials {
  readonly base_url: string
  readonly api_key: string
  readonly api_key_id: string
  readonly management_token: string
}

export type FirstCredentials = Omit<Credentials, 'base_url'>

const LOCK = 7_405_118_204

/**
 * Gives an empty installation its first tenant: organization and workspace `default` with credit, an API key and a
 * management token. Of several nodes that start together, one does it.
 *
 * @param keep stores the credentials before the tenant exists: a kill in between leaves a file without meaning, never
 *   a tenant whose key nobody knows
 * @returns the credentials when they were made now
 */
export async function bootstrap(
  database: Database,
  {
    hasher,
    credit,
    keep,
  }: { hasher: CredentialHasher; credit: string; keep(credentials: FirstCredentials): Promise<void> },
): Promise<FirstCredentials | undefined> {
  return database.transaction().execute(async transaction => {
    await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(transaction)
    if ((await countOrganizations(transaction)) > 0) return undefined
    const { organization, workspace } = await newOrganization(transaction, { name: 'default', role: 'user' })
    await postCredit(transaction, {
      organizationId: organization.id,
      amount: parseUsd(credit),
      operationKey: `bootstrap:${organization.id}`,
      reason: 'credit of the first start',
    })
    const key = await createApiKey(transaction, hasher, { workspaceId: workspace.id, name: 'default' })
    const token = await createManagementToken(transaction, hasher, { workspaceId: workspace.id, name: 'default' })
    const credentials = { api_key: key.credential, api_key_id: key.id, management_token: token.credential }
    await keep(credentials)
    return credentials
  })
}

function credentialsFile(dataFolder: string): string {
  return path.join(dataFolder, 'credentials.json')
}

/** Replaces the file in one step, readable by its owner only. */
export async function writeCredentials(dataFolder: string, credentials: Credentials): Promise<void> {
  const file = credentialsFile(dataFolder)
  await writeFile(`${file}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
}

/** @returns `undefined` when this data folder never had any */
export async function readCredentials(dataFolder: string): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(credentialsFile(dataFolder), 'utf8')) as Credentials
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

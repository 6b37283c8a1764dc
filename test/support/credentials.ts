import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { CredentialHasher } from '#tenants/credential.ts'
import { type ApiKeyInput, createApiKey, findOrganization, listWorkspaces } from '#tenants/store.ts'
import { runCommand } from './command.ts'
import type { Gateway } from './gateway.ts'

export interface MintedCredential {
  readonly id: string
  readonly credential: string
}

/** Runs `tollgate <words>` beside a running gateway. @returns what it printed. @throws when it failed */
export async function commandBeside(gateway: Gateway, ...words: string[]): Promise<string> {
  const { code, output, errors } = await runCommand(words, {
    TOLLGATE_DATA: gateway.dataFolder,
    ...(gateway.database && { DATABASE_URL: gateway.database.url }),
  })
  if (code !== 0) throw new Error(`tollgate ${words.join(' ')} ended with ${code}: ${errors}`)
  return output
}

/** `tollgate keys create` with the given options. */
export function createKey(gateway: Gateway, ...options: string[]): Promise<MintedCredential> {
  return mint(gateway, 'keys', options)
}

/** `tollgate tokens create` with the given options. */
export function createToken(gateway: Gateway, ...options: string[]): Promise<MintedCredential> {
  return mint(gateway, 'tokens', options)
}

async function mint(gateway: Gateway, kind: 'keys' | 'tokens', options: string[]): Promise<MintedCredential> {
  const [id = '', credential = ''] = (await commandBeside(gateway, kind, 'create', ...options)).split('\n')
  return { id, credential }
}

/** A key made behind the gateway's back, ten times as fast as by a command. */
export async function insertKey(
  gateway: Gateway,
  input: Partial<Omit<ApiKeyInput, 'workspaceId'>> = {},
): Promise<MintedCredential> {
  const database = gateway.database?.open()
  if (!database) throw new Error('the gateway has a database of its own')
  try {
    const hasher = new CredentialHasher(await secretOf(gateway))
    const organization = await findOrganization(database, 'default')
    const [workspace] = await listWorkspaces(database, organization?.id ?? '')
    const key = { name: 'inserted', ...input, workspaceId: workspace?.id ?? '' }
    return await database.transaction().execute(transaction => createApiKey(transaction, hasher, key))
  } finally {
    await database.destroy()
  }
}

/** What a gateway generated because no `TOLLGATE_SECRET` was set. */
export async function secretOf(gateway: Gateway): Promise<string> {
  return (await readFile(path.join(gateway.dataFolder, 'secret'), 'utf8')).trim()
}

import { type Command, Option } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { readEnvironment } from '#app/config/environment.ts'
import { OutboundClient } from '#http/outbound/client.ts'
import { OutboundGuard } from '#http/outbound/guard.ts'
import { decodeBaseUrl, decodeSecret, PROVIDER_KEY_DEFAULTS } from '#management/provider-key-settings.ts'
import { KEYED_PROVIDERS } from '#providers/registry.ts'
import { probeProviderKey } from '#relay/probe.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { FALLBACKS, type Fallback, type ProviderKey } from '#tenants/provider-keys/provider-key.ts'
import {
  createProviderKey,
  deleteProviderKey,
  listProviderKeys,
  lockProviderKey,
  openProviderKey,
  recordTest,
  rotateProviderKey,
} from '#tenants/provider-keys/store.ts'
import { listWorkspaces } from '#tenants/store.ts'
import { organizationNamed, workspaceNamed } from './named.ts'
import { readSecret } from './secret-input.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

interface CreateOptions {
  readonly org: string
  readonly workspace: string
  readonly provider: string
  readonly name?: string
  readonly baseUrl?: string
  readonly models?: string[]
  readonly fallback: Fallback
}

const QUESTION = 'Secret (it is not shown): '

export function addProviderKeys(program: Command): void {
  const keys = program.command('provider-keys').description("customers' own keys at providers; secrets come from stdin")
  addList(keys)
  addCreate(keys)
  addRotate(keys)
  addTest(keys)
  addDelete(keys)
}

function addList(keys: Command): void {
  keys
    .command('list')
    .description("list an organization's provider keys")
    .option('--org <organization>', 'id or name', 'default')
    .action(({ org }: CreateOptions) =>
      withDatabase(async ({ database }) => {
        const { id } = await organizationNamed(database, org)
        const workspaces = await listWorkspaces(database, id)
        const found = await listProviderKeys(
          database,
          workspaces.map(workspace => workspace.id),
        )
        const rows = found.map(key => [
          key.id,
          key.name,
          key.provider,
          `…${key.hint}`,
          key.baseUrl ?? '-',
          key.status,
          key.models?.join(',') ?? '-',
          key.fallback,
          key.lastTest ?? '-',
        ])
        printTable(['ID', 'NAME', 'PROVIDER', 'KEY', 'BASE URL', 'STATUS', 'MODELS', 'FALLBACK', 'TEST'], rows)
      }),
    )
}

function addCreate(keys: Command): void {
  keys
    .command('create')
    .description("bring a provider's key for a workspace; its secret is read from stdin")
    .addOption(
      new Option('--provider <provider>', 'whose key it is').choices([...KEYED_PROVIDERS.keys()]).makeOptionMandatory(),
    )
    .option('--org <organization>', 'id or name', 'default')
    .option('--workspace <workspace>', 'id or name', 'default')
    .option('--name <name>', 'what to call it')
    .option('--base-url <url>', "where its host is; the provider's own unless given", parseBaseUrl)
    .option('--models <ids>', 'models that it serves, separated by commas', parseModels)
    .addOption(
      new Option('--fallback <where>', 'who serves what it could not').choices(FALLBACKS).default(FALLBACKS[0]),
    )
    .action(async ({ org, workspace, provider, name = provider, baseUrl, models, fallback }: CreateOptions) => {
      const secret = await readKey()
      await withDatabase(async ({ database, vault }) => {
        const { id: workspaceId } = await workspaceNamed(database, org, workspace)
        const input = { ...PROVIDER_KEY_DEFAULTS, workspaceId, provider, name, baseUrl, models, fallback, secret }
        const { id } = await database.transaction().execute(transaction => createProviderKey(transaction, vault, input))
        process.stdout.write(`${id}\n`)
      })
    })
}

function addRotate(keys: Command): void {
  keys
    .command('rotate')
    .description('give a provider key another secret, read from stdin')
    .argument('<key>', 'id (pkey_…)')
    .action(async (id: string) => {
      const secret = await readKey()
      await withDatabase(async ({ database, vault }) => {
        await change(database, id, (transaction, key) => rotateProviderKey(transaction, vault, key, secret))
        process.stdout.write(`${id} has another secret.\n`)
      })
    })
}

function addTest(keys: Command): void {
  keys
    .command('test')
    .description('ask the provider, at no cost, whether it takes the key')
    .argument('<key>', 'id (pkey_…)')
    .action((id: string) =>
      withDatabase(async ({ database, vault }) => {
        const key = await change(database, id, async (_transaction, found) => found)
        const { trustedNetworks } = readEnvironment()
        const outbound = new OutboundClient(new OutboundGuard({ trustedNetworks }))
        const opened = await openProviderKey(database, vault, key)
        const probing = probeProviderKey({ outbound, providers: KEYED_PROVIDERS }, opened)
        const { outcome, detail } = await probing.finally(() => outbound.close())
        await recordTest(database, id, outcome)
        process.stdout.write(`${outcome}: ${detail}\n`)
        if (outcome !== 'ok') process.exitCode = 1
      }),
    )
}

function addDelete(keys: Command): void {
  keys
    .command('delete')
    .description('delete a provider key and its secret')
    .argument('<key>', 'id (pkey_…)')
    .action((id: string) =>
      withDatabase(async ({ database }) => {
        await change(database, id, deleteProviderKey)
        process.stdout.write(`${id} is deleted.\n`)
      }),
    )
}

/** @throws ConfigError when there is no such key */
function change<T>(
  database: Database,
  id: string,
  make: (transaction: DatabaseTransaction, key: ProviderKey) => Promise<T>,
): Promise<T> {
  return database.transaction().execute(async transaction => {
    const key = await lockProviderKey(transaction, undefined, id)
    if (!key) throw new ConfigError(`There is no provider key "${id}"; see: tollgate provider-keys list`)
    return make(transaction, key)
  })
}

async function readKey(): Promise<string> {
  const secret = await readSecret(QUESTION)
  return orConfigError('The secret', () => decodeSecret(secret))
}

function parseBaseUrl(text: string): string {
  const guard = new OutboundGuard({ trustedNetworks: readEnvironment().trustedNetworks })
  return orConfigError('--base-url', () => decodeBaseUrl(text, url => guard.objectionTo(url)))
}

function parseModels(text: string): string[] {
  return text.split(',').filter(Boolean)
}

function orConfigError<T>(what: string, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw error instanceof RangeError ? new ConfigError(`${what} ${error.message}.`) : error
  }
}

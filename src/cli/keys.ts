import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { createApiKey, listApiKeys, listWorkspaces, revokeApiKey } from '#tenants/store.ts'
import { parseAmount } from './amount.ts'
import { organizationNamed, workspaceNamed } from './named.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

interface PlaceOptions {
  readonly org: string
  readonly workspace: string
}

interface CreateOptions extends PlaceOptions {
  readonly name: string
  readonly models?: string[]
  readonly limit?: string
  readonly expires?: Date
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys')

  keys
    .command('list')
    .description("list an organization's keys")
    .option('--org <organization>', 'id or name', 'default')
    .action(({ org }: PlaceOptions) =>
      withDatabase(async ({ database }) => {
        const { id } = await organizationNamed(database, org)
        const workspaces = await listWorkspaces(database, id)
        const rows = (
          await listApiKeys(
            database,
            workspaces.map(workspace => workspace.id),
          )
        ).map(key => [
          key.id,
          key.name,
          `${key.keyPrefix}…`,
          key.status,
          key.limitAmount === undefined ? '-' : `${key.limitAmount} USD`,
          key.models?.join(',') ?? 'all',
          key.expiresAt?.toISOString() ?? '-',
        ])
        printTable(['ID', 'NAME', 'PREFIX', 'STATUS', 'LIMIT', 'MODELS', 'EXPIRES'], rows)
      }),
    )

  keys
    .command('create')
    .description('create a key; it is shown once')
    .option('--org <organization>', 'id or name', 'default')
    .option('--workspace <workspace>', 'id or name', 'default')
    .option('--name <name>', 'what to call it', 'Default Key')
    .option('--models <ids>', 'restrict it to these models, separated by commas', text =>
      text.split(',').filter(Boolean),
    )
    .option('--limit <usd>', 'stop it after this much spending, e.g. 25.50', parseAmount)
    .option('--expires <time>', 'RFC 3339 time after which it is refused', parseTime)
    .action((options: CreateOptions) =>
      withDatabase(async ({ database, hasher }) => {
        const { id: workspaceId } = await workspaceNamed(database, options.org, options.workspace)
        const { name, models, limit, expires } = options
        const input = { workspaceId, name, models, limitAmount: limit, expiresAt: expires }
        const { id, credential } = await database
          .transaction()
          .execute(transaction => createApiKey(transaction, hasher, input))
        process.stdout.write(`${id}\n${credential}\nKeep it now: it cannot be shown again.\n`)
      }),
    )

  keys
    .command('revoke')
    .description('revoke a key for good, on every node within a second')
    .argument('<key>', 'id (key_…)')
    .action((id: string) =>
      withDatabase(async ({ database }) => {
        const isRevoked = await database.transaction().execute(transaction => revokeApiKey(transaction, id))
        if (!isRevoked) throw new ConfigError(`There is no key "${id}" that could be revoked; see: tollgate keys list`)
        process.stdout.write(`${id} is revoked.\n`)
      }),
    )
}

function parseTime(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new ConfigError(`"${text}" is no time like 2026-12-31T00:00:00Z.`)
  return time
}

import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { createManagementToken, listManagementTokens, listWorkspaces, revokeManagementToken } from '#tenants/store.ts'
import { organizationNamed, workspaceNamed } from './named.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

export function addTokens(program: Command): void {
  const tokens = program.command('tokens').description('management tokens')

  tokens
    .command('list')
    .description("list an organization's management tokens")
    .option('--org <organization>', 'id or name', 'default')
    .action(({ org }: { org: string }) =>
      withDatabase(async ({ database }) => {
        const { id } = await organizationNamed(database, org)
        const workspaces = await listWorkspaces(database, id)
        const rows = (
          await listManagementTokens(
            database,
            workspaces.map(workspace => workspace.id),
          )
        ).map(token => [token.id, token.name, `${token.tokenPrefix}…`, token.revokedAt ? 'revoked' : 'active'])
        printTable(['ID', 'NAME', 'PREFIX', 'STATUS'], rows)
      }),
    )

  tokens
    .command('create')
    .description('create a token for one workspace; it is shown once')
    .option('--org <organization>', 'id or name', 'default')
    .option('--workspace <workspace>', 'id or name', 'default')
    .option('--name <name>', 'what to call it', 'default')
    .action(({ org, workspace, name }: { org: string; workspace: string; name: string }) =>
      withDatabase(async ({ database, hasher }) => {
        const { id: workspaceId } = await workspaceNamed(database, org, workspace)
        const { id, credential } = await database
          .transaction()
          .execute(transaction => createManagementToken(transaction, hasher, { workspaceId, name }))
        process.stdout.write(`${id}\n${credential}\nKeep it now: it cannot be shown again.\n`)
      }),
    )

  tokens
    .command('revoke')
    .description('revoke a token for good')
    .argument('<token>', 'id (mtok_…)')
    .action((id: string) =>
      withDatabase(async ({ database }) => {
        const isRevoked = await database.transaction().execute(transaction => revokeManagementToken(transaction, id))
        if (!isRevoked)
          throw new ConfigError(`There is no token "${id}" that could be revoked; see: tollgate tokens list`)
        process.stdout.write(`${id} is revoked.\n`)
      }),
    )
}

import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { newOrganization } from '#app/new-organization.ts'
import { formatUsd } from '#core/money.ts'
import { availableOf, readBalance } from '#ledger/store.ts'
import { type OrganizationRole, ROLES } from '#tenants/principal.ts'
import { listOrganizations, listWorkspaces, setOrganizationRole } from '#tenants/store.ts'
import { organizationNamed } from './named.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

export function addOrgs(program: Command): void {
  const orgs = program.command('orgs').description('organizations and their workspaces')

  orgs
    .command('list')
    .description('list organizations with role, workspaces and balance')
    .action(() =>
      withDatabase(async ({ database }) => {
        const rows = await Promise.all(
          (await listOrganizations(database)).map(async ({ id, name, role }) => {
            const workspaces = await listWorkspaces(database, id)
            const balance = await readBalance(database, id)
            const amount = balance ? `${formatUsd(availableOf(balance))} USD` : '-'
            return [id, name, role, workspaces.map(workspace => workspace.name).join(', '), amount]
          }),
        )
        printTable(['ID', 'NAME', 'ROLE', 'WORKSPACES', 'BALANCE'], rows)
      }),
    )

  orgs
    .command('create')
    .description('create an organization with one workspace')
    .argument('<name>', 'unique name')
    .option('--role <role>', ROLES.join(', '), parseRole, 'user')
    .action((name: string, { role }: { role: OrganizationRole }) =>
      withDatabase(async ({ database }) => {
        const { organization, workspace } = await database
          .transaction()
          .execute(transaction => newOrganization(transaction, { name, role }))
          .catch(error => {
            throw error.code === '23505' ? new ConfigError(`There is already an organization "${name}".`) : error
          })
        printTable(['ORGANIZATION', 'NAME', 'ROLE', 'WORKSPACE'], [[organization.id, name, role, workspace.id]])
      }),
    )

  orgs
    .command('set-role')
    .description('change the role, which decides the default rate limit')
    .argument('<organization>', 'id or name')
    .argument('<role>', ROLES.join(', '), parseRole)
    .action((idOrName: string, role: OrganizationRole) =>
      withDatabase(async ({ database }) => {
        const { id, name } = await organizationNamed(database, idOrName)
        await database.transaction().execute(transaction => setOrganizationRole(transaction, id, role))
        process.stdout.write(`${name} is now ${role}.\n`)
      }),
    )
}

function parseRole(text: string): OrganizationRole {
  const role = ROLES.find(each => each === text)
  if (!role) throw new ConfigError(`There is no role "${text}"; roles are ${ROLES.join(', ')}.`)
  return role
}

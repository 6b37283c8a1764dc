import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { newOrganization } from '#app/new-organization.ts'
import { loadConfig } from '#app/settings.ts'
import { formatUsd } from '#core/money.ts'
import { availableOf, readBalance } from '#ledger/store.ts'
import { type OrganizationRole, ROLES } from '#tenants/principal.ts'
import { listOrganizations, listWorkspaces, setOrganizationRate, setOrganizationRole } from '#tenants/store.ts'
import { organizationNamed } from './named.ts'
import { parseRate } from './rate.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

export function addOrgs(program: Command): void {
  const orgs = program.command('orgs').description('organizations and their workspaces')

  orgs
    .command('list')
    .description('list organizations with role, workspaces, balance and requests a minute')
    .action(() =>
      withDatabase(async ({ database, environment }) => {
        const { roleRates } = await loadConfig({ ...environment, sandboxUrl: undefined })
        const rows = await Promise.all(
          (await listOrganizations(database)).map(async ({ id, name, role, requestsPerMinute }) => {
            const workspaces = await listWorkspaces(database, id)
            const balance = await readBalance(database, id)
            const amount = balance ? `${formatUsd(availableOf(balance))} USD` : '-'
            const rate = requestsPerMinute === undefined ? `${roleRates[role]}/min by role` : `${requestsPerMinute}/min`
            return [id, name, role, workspaces.map(workspace => workspace.name).join(', '), amount, rate]
          }),
        )
        printTable(['ID', 'NAME', 'ROLE', 'WORKSPACES', 'BALANCE', 'RATE'], rows)
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

  orgs
    .command('set-rate')
    .description('override the requests a minute that the role allows')
    .argument('<organization>', 'id or name')
    .argument('<requests>', "requests a minute; or none for the role's", parseOverride)
    .action((idOrName: string, rate: number | undefined) =>
      withDatabase(async ({ database }) => {
        const { id, name } = await organizationNamed(database, idOrName)
        await database.transaction().execute(transaction => setOrganizationRate(transaction, id, rate))
        process.stdout.write(
          `${name} may now send ${rate === undefined ? 'what its role allows' : `${rate} requests a minute`}.\n`,
        )
      }),
    )
}

function parseOverride(text: string): number | undefined {
  return text === 'none' ? undefined : parseRate(text)
}

function parseRole(text: string): OrganizationRole {
  const role = ROLES.find(each => each === text)
  if (!role) throw new ConfigError(`There is no role "${text}"; roles are ${ROLES.join(', ')}.`)
  return role
}

import type { Command } from 'commander'
import { DELIVERY_POLICIES, type DeliveryPolicy } from '#core/delivery.ts'
import { listWorkspaces, setWorkspaceDelivery } from '#tenants/store.ts'
import { parseDelivery } from './delivery.ts'
import { organizationNamed, workspaceNamed } from './named.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

export function addWorkspaces(program: Command): void {
  const workspaces = program.command('workspaces').description('workspaces of an organization')

  workspaces
    .command('list')
    .description('list the workspaces of an organization')
    .argument('<organization>', 'id or name')
    .action((idOrName: string) =>
      withDatabase(async ({ database }) => {
        const { id: organizationId } = await organizationNamed(database, idOrName)
        const rows = await listWorkspaces(database, organizationId)
        printTable(
          ['ID', 'NAME', 'DELIVERY'],
          rows.map(({ id, name, deliveryPolicy }) => [id, name, deliveryPolicy]),
        )
      }),
    )

  workspaces
    .command('set-delivery')
    .description('how requests are delivered when neither they nor their key say so')
    .argument('<organization>', 'id or name')
    .argument('<workspace>', 'id or name')
    .argument('<policy>', DELIVERY_POLICIES.join(', '), parseDelivery)
    .action((organization: string, idOrName: string, policy: DeliveryPolicy) =>
      withDatabase(async ({ database }) => {
        const { id, name } = await workspaceNamed(database, organization, idOrName)
        await database.transaction().execute(transaction => setWorkspaceDelivery(transaction, id, policy))
        process.stdout.write(`Requests of ${name} are now delivered as: ${policy}.\n`)
      }),
    )
}

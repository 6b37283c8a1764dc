import type { Command } from 'commander'
import { formatUsd, parseUsd } from '#core/money.ts'
import { postCredit, readBalance } from '#ledger/store.ts'
import { newId } from '#lib/ids.ts'
import { parseAmount } from './amount.ts'
import { organizationNamed } from './named.ts'
import { withDatabase } from './with-database.ts'

interface AddOptions {
  readonly reason: string
  readonly once?: string
}

export function addCredit(program: Command): void {
  program
    .command('credit')
    .description('prepaid credit of organizations')
    .command('add')
    .description('add credit')
    .argument('<organization>', 'id or name')
    .argument('<usd>', 'how much, e.g. 25.50', parseAmount)
    .option('--reason <text>', 'kept with the ledger transaction', 'added by the operator')
    .option('--once <key>', 'adds nothing when this key was used before: makes a repeat safe')
    .action((idOrName: string, amount: string, { reason, once }: AddOptions) =>
      withDatabase(async ({ database }) => {
        const { id, name } = await organizationNamed(database, idOrName)
        const operationKey = `credit:${once ?? newId('btx')}`
        const isNew = await database
          .transaction()
          .execute(transaction =>
            postCredit(transaction, { organizationId: id, amount: parseUsd(amount), operationKey, reason }),
          )
        const balance = await readBalance(database, id)
        const left = balance ? formatUsd(balance.credited - balance.spent) : '0'
        process.stdout.write(`${isNew ? 'Added' : 'Was added before'}. ${name} has ${left} USD.\n`)
      }),
    )
}

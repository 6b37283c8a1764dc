import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { formatUsd, parseUsd } from '#core/money.ts'
import { CreditConflict } from '#ledger/credit-conflict.ts'
import { availableOf, type CreditInput, postCredit, readBalance } from '#ledger/store.ts'
import { newId } from '#lib/ids.ts'
import type { Database } from '#storage/database.ts'
import { parseAmount, parseSignedAmount } from './amount.ts'
import { organizationNamed } from './named.ts'
import { withDatabase } from './with-database.ts'

interface CreditOptions {
  readonly reason: string
  readonly once?: string
}

const ONCE = ['--once <key>', 'does nothing when this key was used before, which makes a repeat safe'] as const

export function addCredit(program: Command): void {
  const credit = program.command('credit').description('prepaid credit of organizations')

  credit
    .command('add')
    .description('add credit')
    .argument('<organization>', 'id or name')
    .argument('<usd>', 'how much, e.g. 25.50', parseAmount)
    .option('--reason <text>', 'kept with the ledger transaction', 'added by the operator')
    .option(...ONCE)
    .action((organization: string, amount: string, options: CreditOptions) =>
      post('credit', organization, amount, options),
    )

  credit
    .command('adjust')
    .description('correct the credit, up or down')
    .argument('<organization>', 'id or name')
    .argument('<usd>', 'by how much, e.g. -25.50', parseSignedAmount)
    .requiredOption('--reason <text>', 'kept with the ledger transaction')
    .option(...ONCE)
    .action((organization: string, amount: string, options: CreditOptions) =>
      post('adjustment', organization, amount, options),
    )

  credit
    .command('show')
    .description('show the balance')
    .argument('<organization>', 'id or name')
    .action((organization: string) =>
      withDatabase(async ({ database }) => {
        const { id, name } = await organizationNamed(database, organization)
        process.stdout.write(`${name} has ${await availableText(database, id)}.\n`)
      }),
    )
}

function post(
  kind: NonNullable<CreditInput['kind']>,
  idOrName: string,
  amount: string,
  { reason, once }: CreditOptions,
): Promise<void> {
  return withDatabase(async ({ database }) => {
    const { id, name } = await organizationNamed(database, idOrName)
    const before = await availableText(database, id)
    const operationKey = `${kind}:${once ?? newId('btx')}`
    const input = { organizationId: id, amount: parseUsd(amount), kind, operationKey, reason }
    const isNew = await database
      .transaction()
      .execute(transaction => postCredit(transaction, input))
      .catch(error => {
        throw error instanceof CreditConflict ? new ConfigError(error.message) : error
      })
    const after = await availableText(database, id)
    process.stdout.write(
      isNew ? `${name} had ${before} and has ${after}.\n` : `This was done before. ${name} has ${after}.\n`,
    )
  })
}

async function availableText(database: Database, organizationId: string): Promise<string> {
  const balance = await readBalance(database, organizationId)
  return `${balance ? formatUsd(availableOf(balance)) : '0'} USD`
}

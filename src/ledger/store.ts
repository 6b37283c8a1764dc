import { sql } from 'kysely'
import { canonicalDecimal, formatUsd, type Picodollars, parseUsd } from '#core/money.ts'
import { newId } from '#lib/ids.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'

/** Opens an organization's account. Safe to repeat. */
export async function openAccount(transaction: DatabaseTransaction, organizationId: string): Promise<void> {
  await sql`insert into ledger_accounts (id, kind) values (${organizationId}, 'customer') on conflict do nothing`.execute(
    transaction,
  )
}

/**
 * Locks the accounts of several organizations until the transaction ends. Everything that moves an organization's
 * money or sums takes this lock first and in this order.
 */
export async function lockAccounts(
  transaction: DatabaseTransaction,
  organizationIds: readonly string[],
): Promise<void> {
  await sql`
    select id from ledger_accounts where id = any(${organizationIds}) order by id for no key update
  `.execute(transaction)
}

export interface CreditInput {
  readonly organizationId: string
  readonly amount: Picodollars
  /** The same key credits once, however often it is tried. */
  readonly operationKey: string
  readonly reason: string
}

/**
 * Adds prepaid credit.
 *
 * @returns whether it was posted now; `false` for a repeat
 */
export async function postCredit(transaction: DatabaseTransaction, input: CreditInput): Promise<boolean> {
  await lockAccounts(transaction, [input.organizationId])
  const id = newId('btx')
  const amount = formatUsd(input.amount)
  const { rows } = await sql`
    insert into ledger_transactions (id, kind, operation_key, reason)
    values (${id}, 'credit', ${input.operationKey}, ${input.reason})
    on conflict (operation_key) do nothing
    returning id
  `.execute(transaction)
  if (rows.length === 0) return false
  await sql`
    insert into ledger_entries (transaction_id, account_id, amount)
    values (${id}, 'funding', -(${amount}::numeric)), (${id}, ${input.organizationId}, ${amount}::numeric)
  `.execute(transaction)
  await sql`
    update ledger_accounts set credited = credited + ${amount}::numeric where id = ${input.organizationId}
  `.execute(transaction)
  return true
}

/** What one organization's requests of one batch cost together. */
export interface SpendInput {
  readonly transactionId: string
  readonly organizationId: string
  /** US dollars as a decimal. */
  readonly amount: string
}

/** Posts spending that has been recorded as usage in the same transaction. The accounts must be locked already. */
export async function postSpending(transaction: DatabaseTransaction, spending: readonly SpendInput[]): Promise<void> {
  const rows = JSON.stringify(spending)
  const given = sql`jsonb_to_recordset(${rows}::jsonb) as s("transactionId" text, "organizationId" text, amount numeric)`
  await sql`
    insert into ledger_transactions (id, kind, operation_key)
    select "transactionId", 'usage', "transactionId" from ${given}
  `.execute(transaction)
  await sql`
    insert into ledger_entries (transaction_id, account_id, amount)
    select "transactionId", "organizationId", -amount from ${given}
    union all
    select "transactionId", 'revenue', amount from ${given}
  `.execute(transaction)
  await sql`
    update ledger_accounts set spent = spent + s.amount from ${given} where ledger_accounts.id = s."organizationId"
  `.execute(transaction)
}

export interface Balance {
  readonly credited: Picodollars
  readonly spent: Picodollars
}

/** @returns `undefined` when the organization has no account */
export async function readBalance(database: Database, organizationId: string): Promise<Balance | undefined> {
  const { rows } = await sql<{ credited: string; spent: string }>`
    select credited, spent from ledger_accounts where id = ${organizationId}
  `.execute(database)
  const [row] = rows
  return row && { credited: parseUsd(canonicalDecimal(row.credited)), spent: parseUsd(canonicalDecimal(row.spent)) }
}

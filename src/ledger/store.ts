import { sql } from 'kysely'
import { canonicalDecimal, formatUsd, type Picodollars, parseUsd } from '#core/money.ts'
import { isId, newId } from '#lib/ids.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { CreditConflict } from './credit-conflict.ts'

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

/** An organization's money. What may be leased is `credited − spent − held − leased`. */
export interface Funds {
  readonly organizationId: string
  readonly credited: Picodollars
  readonly spent: Picodollars
  /** Kept for work that is under way and outlives its request. */
  readonly held: Picodollars
  /** With nodes that may spend it without asking. */
  readonly leased: Picodollars
}

/** Locks as {@link lockAccounts}, and reads what is in the accounts. */
export async function lockFunds(
  transaction: DatabaseTransaction,
  organizationIds: readonly string[],
): Promise<Funds[]> {
  const { rows } = await sql<Record<keyof Funds, string>>`
    select id as "organizationId", credited, spent, held, leased from ledger_accounts
    where id = any(${organizationIds}) order by id for no key update
  `.execute(transaction)
  return rows.map(({ organizationId, credited, spent, held, leased }) => ({
    organizationId,
    credited: parseUsd(credited),
    spent: parseUsd(spent),
    held: parseUsd(held),
    leased: parseUsd(leased),
  }))
}

/** What an organization leases to a node, or gets back from one where it is negative. */
export interface LeasedMove {
  readonly organizationId: string
  /** US dollars as a decimal. */
  readonly amount: string
}

/**
 * Moves money in and out of leases. The accounts must be locked already.
 *
 * @throws when a move takes more than there is, and moves nothing then
 */
export async function moveLeased(transaction: DatabaseTransaction, moves: readonly LeasedMove[]): Promise<void> {
  const { numAffectedRows = 0n } = await sql`
    update ledger_accounts account set leased = leased + move.amount
    from jsonb_to_recordset(${JSON.stringify(moves)}::jsonb) as move("organizationId" text, amount numeric)
    where id = move."organizationId" and (move.amount <= 0 or credited - spent - held - leased >= move.amount)
  `.execute(transaction)
  if (numAffectedRows !== BigInt(moves.length)) throw new Error('a lease would take more than its account has')
}

export interface CreditInput {
  readonly organizationId: string
  /** What is taken back by an adjustment is negative. */
  readonly amount: Picodollars
  readonly kind?: 'credit' | 'adjustment'
  /** The same key credits once, however often it is tried. */
  readonly operationKey: string
  readonly reason: string
}

/**
 * Adds prepaid credit, or takes some back.
 *
 * @returns whether it was posted now; `false` for a repeat
 * @throws CreditConflict when nothing may be posted
 */
export async function postCredit(transaction: DatabaseTransaction, input: CreditInput): Promise<boolean> {
  const { kind = 'credit' } = input
  await lockAccounts(transaction, [input.organizationId])
  const id = newId('btx')
  const amount = formatUsd(input.amount)
  const { rows } = await sql`
    insert into ledger_transactions (id, kind, operation_key, reason)
    values (${id}, ${kind}, ${input.operationKey}, ${input.reason})
    on conflict (operation_key) do nothing
    returning id
  `.execute(transaction)
  if (rows.length === 0) {
    await requireSameCredit(transaction, input, amount)
    return false
  }
  await sql`
    insert into ledger_entries (transaction_id, account_id, amount)
    values (${id}, 'funding', -(${amount}::numeric)), (${id}, ${input.organizationId}, ${amount}::numeric)
  `.execute(transaction)
  const { numAffectedRows } = await sql`
    update ledger_accounts set credited = credited + ${amount}::numeric
    where id = ${input.organizationId} and credited + ${amount}::numeric >= 0
  `.execute(transaction)
  if (numAffectedRows !== 1n) throw new CreditConflict('more-than-credited')
  return true
}

/** A key that was used for something else is a mistake, and silence would hide it. */
async function requireSameCredit(
  transaction: DatabaseTransaction,
  { organizationId, operationKey }: CreditInput,
  amount: string,
): Promise<void> {
  const { rows } = await sql`
    select 1 from ledger_entries join ledger_transactions t on t.id = transaction_id
    where t.operation_key = ${operationKey} and account_id = ${organizationId} and amount = ${amount}::numeric
  `.execute(transaction)
  if (rows.length === 0) throw new CreditConflict('another-operation')
}

/** What one organization's requests of one batch cost together. */
export interface SpendInput {
  readonly transactionId: string
  readonly organizationId: string
  /** US dollars as a decimal. */
  readonly amount: string
  /** How much of it a lease had been granted for, and is leased no longer. */
  readonly fromLease: string
}

/** Posts spending that has been recorded as usage in the same transaction. The accounts must be locked already. */
export async function postSpending(transaction: DatabaseTransaction, spending: readonly SpendInput[]): Promise<void> {
  const rows = JSON.stringify(spending)
  const given = sql`
    jsonb_to_recordset(${rows}::jsonb) as s("transactionId" text, "organizationId" text, amount numeric, "fromLease" numeric)`
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
    update ledger_accounts set spent = spent + s.amount, leased = leased - s."fromLease"
    from ${given} where ledger_accounts.id = s."organizationId"
  `.execute(transaction)
}

/** An organization's money. What it may still spend is `credited − spent − held`. */
export interface Balance {
  readonly credited: Picodollars
  readonly spent: Picodollars
  /** Kept for work that is under way and outlives its request. There is no such work yet. */
  readonly held: Picodollars
}

/** @returns `undefined` when the organization has no account */
export async function readBalance(database: Database, organizationId: string): Promise<Balance | undefined> {
  const { rows } = await sql<{ credited: string; spent: string; held: string }>`
    select credited, spent, held from ledger_accounts where id = ${organizationId}
  `.execute(database)
  const [row] = rows
  return row && { credited: parseUsd(row.credited), spent: parseUsd(row.spent), held: parseUsd(row.held) }
}

export function availableOf({ credited, spent, held }: Balance): Picodollars {
  return credited - spent - held
}

/** One movement on an organization's account. */
export interface LedgerEntry {
  readonly transactionId: string
  readonly kind: 'credit' | 'adjustment' | 'usage'
  /** US dollars as a decimal: credit is positive, spending negative. */
  readonly amount: string
  readonly reason: string | null
  readonly createdAt: Date
}

/**
 * Some of an account's entries, newest first.
 *
 * @param after transaction of the entry that the page before ended with
 */
export async function pageEntries(
  database: Database,
  organizationId: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<LedgerEntry[]> {
  const older =
    after === undefined
      ? sql``
      : sql`and (e.created_at, e.transaction_id) < (
          select created_at, transaction_id from ledger_entries
          where account_id = ${organizationId} and transaction_id = ${after})`
  const { rows } = await sql<LedgerEntry>`
    select e.transaction_id as "transactionId", t.kind, e.amount, t.reason, e.created_at as "createdAt"
    from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
    where e.account_id = ${organizationId} ${older}
    order by e.created_at desc, e.transaction_id desc limit ${limit}
  `.execute(database)
  return rows.map(row => ({ ...row, amount: canonicalDecimal(row.amount) }))
}

export async function hasEntry(database: Database, organizationId: string, transactionId: string): Promise<boolean> {
  if (!isId('btx', transactionId)) return false
  const { rows } = await sql`
    select 1 from ledger_entries where account_id = ${organizationId} and transaction_id = ${transactionId}
  `.execute(database)
  return rows.length > 0
}

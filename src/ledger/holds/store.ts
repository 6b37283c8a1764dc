import { sql } from 'kysely'
import { formatUsd, type Picodollars, parseUsd } from '#core/money.ts'
import { newId } from '#lib/ids.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { lockAccounts } from '../store.ts'

/** How a hold ends: what it was for is charged in the same transaction, or will not be. */
export type HoldEnding = 'settled' | 'released'

export interface HoldInput {
  readonly organizationId: string
  readonly amount: Picodollars
  /** What it is for. The same key holds once, however often it is tried. */
  readonly operationKey: string
  /** When it is given up unless it is renewed. */
  readonly expiresAt: Date
}

export interface PlacedHold {
  readonly id: string
  readonly amount: Picodollars
  readonly state: HoldEnding | 'open' | 'expired'
  /** `false` for a repeat: nothing was taken. */
  readonly isNew: boolean
}

/**
 * Keeps money for work that outlives its request, in the transaction that records the work.
 *
 * @returns `undefined` when less than the amount is neither spent nor held nor leased
 */
export async function placeHold(transaction: DatabaseTransaction, input: HoldInput): Promise<PlacedHold | undefined> {
  const { organizationId, operationKey, expiresAt } = input
  await lockAccounts(transaction, [organizationId])
  const known = await findHold(transaction, operationKey)
  if (known) return { ...known, isNew: false }
  const amount = formatUsd(input.amount)
  const { numAffectedRows } = await sql`
    update ledger_accounts set held = held + ${amount}::numeric
    where id = ${organizationId} and credited - spent - held - leased >= ${amount}::numeric
  `.execute(transaction)
  if (numAffectedRows !== 1n) return undefined
  const id = newId('hold')
  await sql`
    insert into ledger_holds (id, operation_key, organization_id, amount, expires_at)
    values (${id}, ${operationKey}, ${organizationId}, ${amount}::numeric, ${expiresAt})
  `.execute(transaction)
  return { id, amount: input.amount, state: 'open', isNew: true }
}

/**
 * Ends a hold, once: of all who try, one does. What the work cost is posted by the caller, in the same transaction.
 *
 * @returns whether it was ended here
 */
export async function closeHold(transaction: DatabaseTransaction, id: string, ending: HoldEnding): Promise<boolean> {
  const { rows } = await sql<{ organizationId: string }>`
    select organization_id as "organizationId" from ledger_holds where id = ${id}
  `.execute(transaction)
  const [hold] = rows
  if (!hold) return false
  await lockAccounts(transaction, [hold.organizationId])
  return (await close(transaction, sql`id = ${id}`, ending)) === 1
}

/** Says that the work goes on. @returns `false` when the hold is closed already */
export async function renewHold(transaction: DatabaseTransaction, id: string, expiresAt: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ledger_holds set expires_at = ${expiresAt} where id = ${id} and state = 'open'
  `.execute(transaction)
  return numAffectedRows === 1n
}

const EXPIRED_AT_ONCE_MAX = 500

/** Gives up what nobody has come back for. @returns how many holds there were of that kind */
export async function expireHolds(database: Database): Promise<number> {
  return database.transaction().execute(async transaction => {
    const { rows } = await sql<{ id: string; organizationId: string }>`
      select id, organization_id as "organizationId" from ledger_holds
      where state = 'open' and expires_at < now() order by expires_at limit ${EXPIRED_AT_ONCE_MAX}
    `.execute(transaction)
    if (rows.length === 0) return 0
    await lockAccounts(transaction, [...new Set(rows.map(({ organizationId }) => organizationId))])
    // One that was renewed while the accounts were waited for is open still.
    return close(transaction, sql`id = any(${rows.map(({ id }) => id)}) and expires_at < now()`, 'expired')
  })
}

/** The accounts must be locked already. */
async function close(
  transaction: DatabaseTransaction,
  which: ReturnType<typeof sql>,
  state: HoldEnding | 'expired',
): Promise<number> {
  const { rows } = await sql<{ holds: number }>`
    with closed as (
      update ledger_holds set state = ${state}, closed_at = now() where state = 'open' and ${which}
      returning organization_id, amount
    ), freed as (
      update ledger_accounts set held = held - sums.amount
      from (select organization_id, sum(amount) as amount from closed group by 1) sums
      where id = sums.organization_id
    )
    select count(*)::int as holds from closed
  `.execute(transaction)
  return rows[0]?.holds ?? 0
}

async function findHold(
  transaction: DatabaseTransaction,
  operationKey: string,
): Promise<Omit<PlacedHold, 'isNew'> | undefined> {
  const { rows } = await sql<{ id: string; amount: string; state: PlacedHold['state'] }>`
    select id, amount, state from ledger_holds where operation_key = ${operationKey}
  `.execute(transaction)
  const [hold] = rows
  return hold && { ...hold, amount: parseUsd(hold.amount) }
}

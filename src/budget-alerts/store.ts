import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#storage/database.ts'

/** What is configured; each threshold as it is written there, which is also how an alert names it. */
export interface Thresholds {
  /** US dollars as decimals. */
  readonly balanceBelow: readonly string[]
  /** Of the limit, e.g. `80%`. */
  readonly limitUsed: readonly string[]
}

/** A threshold that was crossed, and by what. Amounts are US dollars as decimals. */
export type BudgetAlert =
  | {
      readonly kind: 'organization'
      readonly organizationId: string
      readonly threshold: string
      /** Credited, less what was spent and what is held. */
      readonly balance: string
    }
  | {
      readonly kind: 'key'
      readonly organizationId: string
      readonly keyId: string
      readonly threshold: string
      readonly used: string
      readonly limit: string
    }

/** Organizations beyond a threshold. One that never had credit has not lost any. */
const organizations = (thresholds: readonly string[]) => sql`
  select 'organization' as kind, id, id as "organizationId", threshold,
         trim_scale(credited - spent - held)::text as balance
  from ledger_accounts, unnest(${thresholds}::text[]) as threshold
  where ledger_accounts.kind = 'customer' and credited > 0 and credited - spent - held < threshold::numeric`

/** Keys beyond a threshold. One that may spend nothing has not used it up, and of one that is blocked nobody need know. */
const keys = (thresholds: readonly string[]) => sql`
  select 'key' as kind, k.id, k.id as "keyId", w.organization_id as "organizationId", threshold,
         trim_scale(used_amount)::text as used, trim_scale(limit_amount)::text as limit
  from api_key_usage u join api_keys k on k.id = u.api_key_id join workspaces w on w.id = k.workspace_id,
       unnest(${thresholds}::text[]) as threshold
  where status = 'active' and limit_amount > 0 and used_amount * 100 >= limit_amount * rtrim(threshold, '%')::numeric`

/**
 * Notes what has crossed a threshold, and forgets what has come back.
 *
 * @returns the crossings that no node has noted before
 */
export async function noteCrossings(
  database: Database,
  { balanceBelow, limitUsed }: Thresholds,
): Promise<BudgetAlert[]> {
  return [
    ...(await noteCrossingsOf(database, 'organization', organizations(balanceBelow))),
    ...(await noteCrossingsOf(database, 'key', keys(limitUsed))),
  ]
}

async function noteCrossingsOf(
  database: Database,
  kind: BudgetAlert['kind'],
  crossed: RawBuilder<unknown>,
): Promise<BudgetAlert[]> {
  await sql`
    delete from budget_alerts where subject_kind = ${kind}
      and (subject_id, threshold) not in (select id, threshold from (${crossed}) crossed)
  `.execute(database)
  const { rows } = await sql<BudgetAlert & { id: string }>`
    with crossed as materialized (${crossed}), raised as (
      insert into budget_alerts (subject_kind, subject_id, threshold) select kind, id, threshold from crossed
      on conflict do nothing returning subject_id, threshold
    )
    select crossed.* from crossed join raised on subject_id = id and raised.threshold = crossed.threshold
    order by id, threshold
  `.execute(database)
  return rows.map(({ id: _, ...alert }) => alert)
}

import { type RawBuilder, sql } from 'kysely'
import { type Database, readSnapshot } from '#storage/database.ts'

/** Something that two tables say differently. */
export interface Difference {
  /** Id of an organization, a key or a transaction. */
  readonly subject: string
  /** US dollars as decimals. */
  readonly expected: string
  readonly found: string
}

export interface Finding {
  /** What should hold, as a sentence. */
  readonly invariant: string
  readonly differences: readonly Difference[]
}

/** What must hold between the tables, and the rows for which it does not. Read only: no row is written here. */
const INVARIANTS: Readonly<Record<string, RawBuilder<Difference>>> = {
  'the entries of every ledger transaction sum to zero': sql`
    select transaction_id as subject, '0' as expected, sum(amount)::text as found
    from ledger_entries group by 1 having sum(amount) <> 0
  `,
  'credited − spent of every account is the sum of its entries': sql`
    select id as subject, coalesce(entry.amount, 0)::text as expected, (credited - spent)::text as found
    from ledger_accounts left join (
      select account_id, sum(amount) as amount from ledger_entries group by 1
    ) entry on entry.account_id = id
    where kind = 'customer' and credited - spent <> coalesce(entry.amount, 0)
  `,
  'spent of every account is the cost of its usage': sql`
    select id as subject, coalesce(usage.cost, 0)::text as expected, spent::text as found
    from ledger_accounts left join (
      select organization_id, sum(cost) as cost from usage_events group by 1
    ) usage on usage.organization_id = id
    where kind = 'customer' and spent <> coalesce(usage.cost, 0)
  `,
  // Nothing takes durable holds yet.
  'held of every account is the sum of its open holds': sql`
    select id as subject, '0' as expected, held::text as found from ledger_accounts where held <> 0
  `,
  'leased of every account is the sum of its leases': sql`
    select id as subject, coalesce(lease.amount, 0)::text as expected, leased::text as found
    from ledger_accounts left join (
      select subject_id, sum(amount) as amount from quota_leases where subject_kind = 'organization' group by 1
    ) lease on lease.subject_id = id
    where leased <> coalesce(lease.amount, 0)
  `,
  'leased of every key is the sum of its leases': sql`
    select api_key_id as subject, coalesce(lease.amount, 0)::text as expected, leased::text as found
    from api_key_usage left join (
      select subject_id, sum(amount) as amount from quota_leases where subject_kind = 'key' group by 1
    ) lease on lease.subject_id = api_key_id
    where leased <> coalesce(lease.amount, 0)
  `,
  'used of every key is the cost of its usage': sql`
    select k.id as subject, coalesce(usage.cost, 0)::text as expected, coalesce(used_amount, 0)::text as found
    from api_keys k left join api_key_usage on api_key_usage.api_key_id = k.id left join (
      select api_key_id, sum(cost) as cost from usage_events group by 1
    ) usage on usage.api_key_id = k.id
    where coalesce(used_amount, 0) <> coalesce(usage.cost, 0)
  `,
}

/** Checks every invariant at one and the same moment. */
export async function readFindings(database: Database): Promise<Finding[]> {
  return readSnapshot(database, async transaction => {
    const findings: Finding[] = []
    for (const [invariant, query] of Object.entries(INVARIANTS)) {
      const { rows } = await query.execute(transaction)
      findings.push({ invariant, differences: rows })
    }
    return findings
  })
}

import { type RawBuilder, sql } from 'kysely'
import { type Database, readSnapshot } from '#storage/database.ts'
import { type History, type RecentScope, type Scope, SETTLED_MS, SLOTS, wholeDays } from './scope.ts'

/** Something that two tables say differently. */
export interface Difference {
  /** Id of an organization, a key or a transaction, with the time that it is about where there is one. */
  readonly subject: string
  /** US dollars as decimals, with the number of requests where they are counted. */
  readonly expected: string
  readonly found: string
}

export interface Finding {
  /** What should hold, as a sentence. */
  readonly invariant: string
  readonly differences: readonly Difference[]
}

/** What must hold between the tables: for a scope, the rows for which it does not. */
const INVARIANTS: Readonly<Record<string, (scope: Scope) => RawBuilder<Difference>>> = {
  'the entries of every ledger transaction sum to zero': scope => sql`
    select transaction_id as subject, '0' as expected, trim_scale(sum(amount))::text as found
    from ${entriesOf(scope)} group by 1 having sum(amount) <> 0
  `,
  'credited of every account is the sum of its credits': scope =>
    entriesDiffer(scope, 'credited', sql`t.kind <> 'usage'`),
  'spent of every account is the sum of its spending': scope => entriesDiffer(scope, 'spent', sql`t.kind = 'usage'`),
  'spent of every account is the cost of its usage by day': scope => sql`
    select id as subject, trim_scale(coalesce(usage.cost, 0))::text as expected, trim_scale(spent)::text as found
    from ledger_accounts left join lateral (
      select sum(cost) as cost from usage_organization_daily where organization_id = id
    ) usage on true
    where kind = 'customer' and ${isAccountDue(scope)} and spent <> coalesce(usage.cost, 0)
  `,
  'used of every key is the cost of its usage by day': scope => sql`
    select k.id as subject, trim_scale(coalesce(usage.cost, 0))::text as expected,
           trim_scale(coalesce(used_amount, 0))::text as found
    from api_keys k left join api_key_usage u on u.api_key_id = k.id left join lateral (
      select sum(cost) as cost from usage_daily where usage_daily.api_key_id = k.id
    ) usage on true
    where ${isKeyDue(scope)} and coalesce(used_amount, 0) <> coalesce(usage.cost, 0)
  `,
  'usage by hour of every key is the sum of its rows': scope => hoursDiffer(KEYS, scope),
  'usage by hour of every organization is the sum of its rows': scope => hoursDiffer(ORGANIZATIONS, scope),
  'usage by day of every key is the sum of its hours': scope => daysDiffer(KEYS, scope),
  'usage by day of every organization is the sum of its hours': scope => daysDiffer(ORGANIZATIONS, scope),
  'held of every account is the sum of its open holds': () => sql`
    select id as subject, trim_scale(coalesce(hold.amount, 0))::text as expected, trim_scale(held)::text as found
    from ledger_accounts left join (
      select organization_id, sum(amount) as amount from ledger_holds where state = 'open' group by 1
    ) hold on hold.organization_id = id
    where held <> coalesce(hold.amount, 0)
  `,
  'leased of every account is the sum of its leases': () => sql`
    select id as subject, trim_scale(coalesce(lease.amount, 0))::text as expected, trim_scale(leased)::text as found
    from ledger_accounts left join (
      select subject_id, sum(amount) as amount from quota_leases where subject_kind = 'organization' group by 1
    ) lease on lease.subject_id = id
    where leased <> coalesce(lease.amount, 0)
  `,
  'leased of every key is the sum of its leases': () => sql`
    select coalesce(api_key_id, subject_id) as subject, trim_scale(coalesce(amount, 0))::text as expected,
           trim_scale(coalesce(leased, 0))::text as found
    from api_key_usage full join (
      select subject_id, sum(amount) as amount from quota_leases where subject_kind = 'key' group by 1
    ) lease on lease.subject_id = api_key_id
    where coalesce(leased, 0) <> coalesce(amount, 0)
  `,
  // The database refuses all other amounts below zero by itself.
  'used of every key is not negative': () => sql`
    select api_key_id as subject, '0' as expected, trim_scale(used_amount)::text as found
    from api_key_usage where used_amount < 0
  `,
}

/** Entries of both sides of every transaction. By account, because that is how an index finds the young ones. */
function entriesOf(scope: Scope) {
  if (scope === 'everything') return sql`ledger_entries`
  return sql`ledger_accounts cross join lateral (
    select transaction_id, amount from ledger_entries where account_id = id and created_at >= ${scope.since}
  ) entry`
}

/** What an account's mark leaves to be added up; everything where there is no mark, or none is to be trusted. */
const MARKS = sql`reconciliation_marks`
const NO_MARKS = sql`(select null::text as account_id, null::timestamptz as till, 0 as credited, 0 as spent)`

/** Compares what an account says with its entries: those before its mark as the mark has them, and all after it. */
function entriesDiffer(
  scope: Scope,
  column: 'credited' | 'spent',
  ofKind: RawBuilder<unknown>,
): RawBuilder<Difference> {
  const total = sql.ref(`account.${column}`)
  const sign = sql.lit(column === 'credited' ? 1 : -1)
  return sql`
    select id as subject, trim_scale(expected)::text as expected, trim_scale(${total})::text as found
    from ledger_accounts account left join ${scope === 'everything' ? NO_MARKS : MARKS} mark on mark.account_id = id
    cross join lateral (
      select coalesce(mark.${sql.ref(column)}, 0) + ${sign} * coalesce(sum(amount), 0) as expected
      from ledger_entries entry join ledger_transactions t on t.id = transaction_id
      where entry.account_id = account.id and entry.created_at >= coalesce(mark.till, '-infinity') and ${ofKind}
    ) entries
    where account.kind = 'customer' and ${total} <> expected
  `
}

/** Moved since its mark, or it is its turn. */
function isAccountDue(scope: Scope): RawBuilder<unknown> {
  if (scope === 'everything') return sql`true`
  return sql`(${isTurnOf(sql`id`, scope)} or not exists (
    select from reconciliation_marks mark where account_id = id and mark.spent = ledger_accounts.spent))`
}

function isKeyDue(scope: Scope): RawBuilder<unknown> {
  return scope === 'everything' ? sql`true` : sql`(${isTurnOf(sql`k.id`, scope)} or last_used_at >= ${scope.since})`
}

function isTurnOf(id: RawBuilder<unknown>, { slot }: RecentScope): RawBuilder<unknown> {
  return sql`mod(hashtext(${id})::bigint + 2147483648, ${sql.lit(SLOTS)}) = ${slot}`
}

/** Whose usage is summed up, and where. */
interface Owners {
  readonly id: RawBuilder<unknown>
  /** Ids of those that have moved lately or whose turn it is. */
  readonly due: (scope: Scope) => RawBuilder<unknown>
  readonly byHour: RawBuilder<unknown>
  readonly byDay: RawBuilder<unknown>
}

const KEYS: Owners = {
  id: sql`api_key_id`,
  due: scope => sql`
    select k.id from api_keys k left join api_key_usage u on u.api_key_id = k.id where ${isKeyDue(scope)}`,
  byHour: sql`usage_hourly`,
  byDay: sql`usage_daily`,
}
const ORGANIZATIONS: Owners = {
  id: sql`organization_id`,
  due: scope => sql`select id from ledger_accounts where kind = 'customer' and ${isAccountDue(scope)}`,
  byHour: sql`usage_organization_hourly`,
  byDay: sql`usage_organization_daily`,
}

function hoursDiffer(owners: Owners, scope: Scope): RawBuilder<Difference> {
  const rows = sql`
    select ${owners.id} as owner, date_trunc('hour', created_at, 'UTC') as at, count(*) as requests, sum(cost) as cost
    from usage_events where ${isWithin(sql`created_at`, scope)} group by 1, 2`
  return sumsDiffer(rows, sumsOf(owners, scope, { table: owners.byHour, at: sql`hour`, within: sql`hour` }))
}

function daysDiffer(owners: Owners, scope: Scope): RawBuilder<Difference> {
  const days = scope === 'everything' ? scope : { ...scope, hours: scope.hours.map(wholeDays) }
  const day = sql`date_trunc('day', hour, 'UTC')`
  return sumsDiffer(
    sumsOf(owners, scope, { table: owners.byHour, at: day, within: sql`hour`, span: days }),
    sumsOf(owners, scope, { table: owners.byDay, at: sql`day`, within: sql`day`, span: days }),
  )
}

/** Sums of one table by owner and time: of all owners, or of those that are due or have rows within the scope. */
function sumsOf(
  owners: Owners,
  scope: Scope,
  {
    table,
    at,
    within,
    span = scope,
  }: { table: RawBuilder<unknown>; at: RawBuilder<unknown>; within: RawBuilder<unknown>; span?: Scope },
) {
  const source =
    scope === 'everything'
      ? sql`(select ${owners.id} as owner, ${at} as at, requests, cost from ${table})`
      : sql`(
            select ${owners.id} as owner from usage_events where ${isWithin(sql`created_at`, scope)}
            union ${owners.due(scope)}
          ) due
          cross join lateral (
            select ${at} as at, requests, cost from ${table} where ${owners.id} = owner and ${isWithin(within, span)})`
  return sql`select owner, at, sum(requests) as requests, sum(cost) as cost from ${source} sums group by 1, 2`
}

function isWithin(time: RawBuilder<unknown>, scope: Scope): RawBuilder<unknown> {
  if (scope === 'everything') return sql`true`
  if (scope.hours.length === 0) return sql`false`
  const spans = scope.hours.map(({ from, till }) => sql`(${time} >= ${from} and ${time} < ${till})`)
  return sql`(${sql.join(spans, sql` or `)})`
}

function sumsDiffer(expected: RawBuilder<unknown>, found: RawBuilder<unknown>): RawBuilder<Difference> {
  return sql`
    select owner || to_char(at at time zone 'UTC', ' YYYY-MM-DD"T"HH24:MI"Z"') as subject,
           ${describe(sql`expected`)} as expected, ${describe(sql`found`)} as found
    from (${expected}) expected full join (${found}) found using (owner, at)
    where expected.cost is distinct from found.cost or expected.requests is distinct from found.requests
    order by 1
  `
}

function describe(sums: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    trim_scale(coalesce(${sums}.cost, 0))::text || ' in ' || coalesce(${sums}.requests, 0)::text || ' requests'`
}

/** Checks every invariant at one and the same moment. */
export async function readFindings(database: Database, scope: Scope): Promise<Finding[]> {
  return readSnapshot(database, async transaction => {
    await sql`set local statement_timeout = ${sql.lit(STATEMENT_MS_MAX)}`.execute(transaction)
    // Rows that a check reads are few or all, and a compiler's time is longer than either.
    await sql`set local jit = off`.execute(transaction)
    const findings: Finding[] = []
    for (const [invariant, queryOf] of Object.entries(INVARIANTS)) {
      const { rows } = await queryOf(scope).execute(transaction)
      findings.push({ invariant, differences: rows })
    }
    return findings
  })
}

/** Reading everything takes as long as it takes; somebody waits for it. */
const STATEMENT_MS_MAX = 60 * 60_000

/**
 * Takes it upon this node to look.
 *
 * @returns what is known of the past; `undefined` while another node looks, or has lately
 */
export async function beginReconciliation(database: Database, intervalMs: number): Promise<History | undefined> {
  const { rows } = await sql<{ now: Date; hoursCheckedTill: Date | null }>`
    update reconciliation set begun_at = now() where begun_at <= now() - ${intervalMs} * interval '1 millisecond'
    returning now(), hours_checked_till as "hoursCheckedTill"
  `.execute(database)
  const [claimed] = rows
  if (!claimed) return undefined
  const { rows: events } = await sql<{ firstRowAt: Date | null }>`
    select min(created_at) as "firstRowAt" from usage_events
  `.execute(database)
  return {
    now: claimed.now,
    hoursCheckedTill: claimed.hoursCheckedTill ?? undefined,
    firstRowAt: events[0]?.firstRowAt ?? undefined,
  }
}

/** Forgets the marks of accounts that seem to differ, so that the next look at them reads all their entries. */
export async function dropMarks(database: Database, accountIds: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    delete from reconciliation_marks where account_id = any(${accountIds}) returning 1
  `.execute(database)
  return rows.length > 0
}

/** Adds what has settled since to the marks of all accounts. What differs gets none. */
export async function advanceMarks(database: Database, now: Date, except: readonly string[]): Promise<void> {
  const till = new Date(now.getTime() - SETTLED_MS)
  await sql`
    insert into reconciliation_marks as mark (account_id, till, credited, spent)
    select id, ${till}, coalesce(known.credited, 0) + coalesce(entries.credited, 0),
           coalesce(known.spent, 0) + coalesce(entries.spent, 0)
    from ledger_accounts left join reconciliation_marks known on known.account_id = id cross join lateral (
      select sum(amount) filter (where t.kind <> 'usage') as credited,
             -sum(amount) filter (where t.kind = 'usage') as spent
      from ledger_entries entry join ledger_transactions t on t.id = transaction_id
      where entry.account_id = ledger_accounts.id and entry.created_at < ${till}
        and entry.created_at >= coalesce(known.till, '-infinity')
    ) entries
    where ledger_accounts.kind = 'customer' and not id = any(${except})
    on conflict (account_id) do update
      set till = excluded.till, credited = excluded.credited, spent = excluded.spent
      where (mark.credited, mark.spent) <> (excluded.credited, excluded.spent)
  `.execute(database)
}

/** Writes down what came of a look. */
export async function endReconciliation(
  database: Database,
  { differences, hoursCheckedTill }: { differences: number; hoursCheckedTill: Date },
): Promise<void> {
  await sql`
    update reconciliation set
      finished_at = now(), differences = ${differences},
      succeeded_at = case when ${differences} = 0 then now() else succeeded_at end,
      hours_checked_till = greatest(hours_checked_till, ${hoursCheckedTill}::timestamptz)
  `.execute(database)
}

/** What the last look by any node has found. */
export interface Verdict {
  readonly differences: number
  /** The last look that found nothing. */
  readonly succeededAt: Date | undefined
}

export async function readVerdict(database: Database): Promise<Verdict> {
  const { rows } = await sql<{ differences: number; succeededAt: Date | null }>`
    select differences, succeeded_at as "succeededAt" from reconciliation
  `.execute(database)
  return { differences: rows[0]?.differences ?? 0, succeededAt: rows[0]?.succeededAt ?? undefined }
}

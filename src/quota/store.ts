import { sql } from 'kysely'
import { formatUsd, type Picodollars, parseUsd } from '#core/money.ts'
import { lockFunds, moveLeased } from '#ledger/store.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import type { Subject, SubjectKind } from './subject.ts'

/** A node from one moment at which it knew all its leases until it loses sight of them, or another takes its place. */
export interface Term {
  readonly nodeId: string
  readonly epoch: number
}

/** A node that has been silent for longer than this gets no share of what is granted to others. */
const LIVE = sql`interval '15 seconds'`

/** Begins a term: whatever was asked for in an earlier one is refused from now on. */
export async function beginTerm(database: Database, nodeId: string): Promise<Term> {
  const { rows } = await sql<{ epoch: number }>`
    insert into quota_nodes (node_id, epoch, seen_at) values (${nodeId}, nextval('quota_epochs'), now())
    on conflict (node_id) do update set epoch = excluded.epoch, seen_at = excluded.seen_at
    returning epoch
  `.execute(database)
  return { nodeId, epoch: (rows[0] as { epoch: number }).epoch }
}

/** Says that the node is alive. @returns whether its term still runs */
export async function renewTerm(database: Database, { nodeId, epoch }: Term): Promise<boolean> {
  const { rows } = await sql`
    update quota_nodes set seen_at = now() where node_id = ${nodeId} and epoch = ${epoch} returning 1
  `.execute(database)
  return rows.length === 1
}

/** Keeps the term from ending while the transaction runs. @throws when it has ended */
export async function assertTerm(transaction: DatabaseTransaction, { nodeId, epoch }: Term): Promise<void> {
  const { rows } = await sql`
    select 1 from quota_nodes where node_id = ${nodeId} and epoch = ${epoch} for share
  `.execute(transaction)
  if (rows.length === 0) throw new Error('the leases of this node have been taken for abandoned')
}

export async function countLiveNodes(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from quota_nodes where seen_at > now() - ${LIVE}
  `.execute(database)
  return rows[0]?.count ?? 0
}

/** Nodes that nobody has heard of for `silenceMs`. */
export async function listSilentNodes(database: Database, silenceMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select node_id as id from quota_nodes where seen_at < now() - ${silenceMs} * interval '1 millisecond' order by node_id
  `.execute(database)
  return rows.map(({ id }) => id)
}

/** Removes a node that has no lease left, if it is still silent. @throws when it has one */
export async function removeNode(
  transaction: DatabaseTransaction,
  nodeId: string,
  silenceMs: number,
): Promise<boolean> {
  const { rows } = await sql`
    delete from quota_nodes where node_id = ${nodeId} and seen_at <= now() - ${silenceMs} * interval '1 millisecond'
    returning 1
  `.execute(transaction)
  return rows.length === 1
}

/** A row of `quota_leases`, or what is to change in one. */
export interface LeaseAmount {
  readonly subject: Subject
  readonly amount: Picodollars
}

export async function readLeases(database: Database, nodeId: string): Promise<LeaseAmount[]> {
  const { rows } = await sql<{ kind: SubjectKind; id: string; organizationId: string; amount: string }>`
    select subject_kind as kind, subject_id as id, organization_id as "organizationId", amount
    from quota_leases where node_id = ${nodeId} order by subject_kind, subject_id
  `.execute(database)
  return rows.map(({ amount, ...subject }) => ({ subject, amount: parseUsd(amount) }))
}

/** How a subject stands. */
export interface Standing {
  /** Not spent and not durably held, whoever has leased it. */
  readonly balance: Picodollars
  /** The part of it that nobody has leased. */
  readonly available: Picodollars
}

/** How subjects stand, by their ids. Locks their organizations' accounts, which guard all their rows. */
export async function lockStandings(
  transaction: DatabaseTransaction,
  subjects: readonly Subject[],
): Promise<Map<string, Standing>> {
  const standings = new Map<string, Standing>()
  const organizationIds = new Set(subjects.map(subject => subject.organizationId))
  for (const { organizationId, credited, spent, held, leased } of await lockFunds(transaction, [...organizationIds])) {
    const balance = credited - spent - held
    standings.set(organizationId, { balance, available: balance - leased })
  }
  const keyIds = subjects.filter(({ kind }) => kind === 'key').map(({ id }) => id)
  for (const { id, limit, used, leased } of await readKeys(transaction, keyIds)) {
    const balance = limit - used
    standings.set(id, { balance, available: balance - leased })
  }
  return standings
}

/** Stands for the limit of a key that has lost its limit a moment ago. */
const NO_LIMIT = sql`1e20`

async function readKeys(transaction: DatabaseTransaction, keyIds: readonly string[]) {
  if (keyIds.length === 0) return []
  const { rows } = await sql<{ id: string; limit: string; used: string; leased: string }>`
    select k.id, coalesce(k.limit_amount, ${NO_LIMIT})::numeric(38, 12) as limit,
           coalesce(u.used_amount, 0) as used, coalesce(u.leased, 0) as leased
    from api_keys k left join api_key_usage u on u.api_key_id = k.id
    where k.id = any(${keyIds})
  `.execute(transaction)
  return rows.map(({ id, limit, used, leased }) => ({
    id,
    limit: parseUsd(limit),
    used: parseUsd(used),
    leased: parseUsd(leased),
  }))
}

/**
 * Adds to a node's leases. The organizations' accounts must be locked.
 *
 * @returns what the leases amount to now, by subject id
 * @throws when a subject has less than it is to give
 */
export async function addToLeases(
  transaction: DatabaseTransaction,
  nodeId: string,
  grants: readonly LeaseAmount[],
): Promise<Map<string, Picodollars>> {
  await moveAll(transaction, grants)
  const { rows } = await sql<{ id: string; amount: string }>`
    insert into quota_leases as lease (node_id, subject_kind, subject_id, organization_id, amount, renewed_at)
    select ${nodeId}, kind, id, "organizationId", amount, now() from ${changeRows(grants)}
    on conflict (node_id, subject_kind, subject_id)
    do update set amount = lease.amount + excluded.amount, renewed_at = excluded.renewed_at
    returning subject_id as id, amount
  `.execute(transaction)
  return new Map(rows.map(({ id, amount }) => [id, parseUsd(amount)]))
}

/**
 * Gives back part of a node's leases, or all. The organizations' accounts must be locked.
 *
 * @throws when a lease has less than is to be given back
 */
export async function takeFromLeases(
  transaction: DatabaseTransaction,
  nodeId: string,
  returns: readonly LeaseAmount[],
): Promise<void> {
  await moveAll(
    transaction,
    returns.map(({ subject, amount }) => ({ subject, amount: -amount })),
  )
  const { numAffectedRows } = await sql`
    update quota_leases lease set amount = lease.amount - change.amount, renewed_at = now()
    from ${changeRows(returns)} where node_id = ${nodeId} and subject_kind = change.kind and subject_id = change.id
  `.execute(transaction)
  if (numAffectedRows !== BigInt(returns.length)) throw new Error('a lease that is to be given back is not there')
  await sql`delete from quota_leases where node_id = ${nodeId} and amount = 0`.execute(transaction)
}

/** Moves amounts between subjects and their leases: to them where positive, back where negative. */
async function moveAll(transaction: DatabaseTransaction, changes: readonly LeaseAmount[]): Promise<void> {
  const moves = changes.map(({ subject, amount }) => ({ ...subject, amount: formatUsd(amount) }))
  const organizations = moves.filter(({ kind }) => kind === 'organization')
  if (organizations.length > 0) await moveLeased(transaction, organizations)
  const keys = changes.filter(({ subject }) => subject.kind === 'key')
  if (keys.length > 0) await moveLeasedOfKeys(transaction, keys)
}

async function moveLeasedOfKeys(transaction: DatabaseTransaction, changes: readonly LeaseAmount[]): Promise<void> {
  await sql`
    insert into api_key_usage (api_key_id) select id from ${changeRows(changes)} on conflict do nothing
  `.execute(transaction)
  const { numAffectedRows } = await sql`
    update api_key_usage u set leased = u.leased + change.amount
    from ${changeRows(changes)} join api_keys k on k.id = change.id
    where u.api_key_id = change.id and (
      change.amount <= 0 or coalesce(k.limit_amount, ${NO_LIMIT}) - u.used_amount - u.leased >= change.amount)
  `.execute(transaction)
  if (numAffectedRows !== BigInt(changes.length)) throw new Error('a lease would take more than its key may spend')
}

function changeRows(changes: readonly LeaseAmount[]) {
  const rows = changes.map(({ subject, amount }) => ({ ...subject, amount: formatUsd(amount) }))
  return sql`
    jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as change(kind text, id text, "organizationId" text, amount numeric)`
}

/** What a key has spent in the rows that are being posted. */
export interface KeySpending {
  readonly keyId: string
  /** US dollars as a decimal. */
  readonly amount: string
  readonly lastUsedAt: string
}

/** What organizations have spent in the rows that are being posted. */
export interface OrganizationSpending {
  readonly organizationId: string
  /** US dollars as a decimal. */
  readonly amount: string
}

/**
 * Shrinks a node's leases by what it has spent, as far as they reach: what went beyond them was never leased. The
 * organizations' accounts must be locked; their own `leased` is left to who posts the spending.
 *
 * @returns how much of the spending of each organization and key came from a lease, as a decimal, by id
 */
export async function shrinkLeases(
  transaction: DatabaseTransaction,
  nodeId: string,
  organizations: readonly OrganizationSpending[],
  keys: readonly KeySpending[],
): Promise<Map<string, string>> {
  const spending = [
    ...organizations.map(({ organizationId, amount }) => ({ kind: 'organization', id: organizationId, amount })),
    ...keys.map(({ keyId, amount }) => ({ kind: 'key', id: keyId, amount })),
  ]
  const { rows } = await sql<{ id: string; used: string }>`
    with used as materialized (
      select kind, id, least(lease.amount, s.amount) as amount
      from jsonb_to_recordset(${JSON.stringify(spending)}::jsonb) as s(kind text, id text, amount numeric)
      join quota_leases lease on node_id = ${nodeId} and subject_kind = kind and subject_id = id
    )
    update quota_leases lease set amount = lease.amount - used.amount, renewed_at = now()
    from used where node_id = ${nodeId} and subject_kind = used.kind and subject_id = used.id
    returning used.id, used.amount::text as used
  `.execute(transaction)
  return new Map(rows.map(({ id, used }) => [id, used]))
}

/** What a node's leases of these subjects amount to, by id; a lease that is not there is left out. */
export async function readLeaseAmounts(
  database: Database,
  nodeId: string,
  subjectIds: readonly string[],
): Promise<Map<string, Picodollars>> {
  const { rows } = await sql<{ id: string; amount: string }>`
    select subject_id as id, amount from quota_leases where node_id = ${nodeId} and subject_id = any(${subjectIds})
  `.execute(database)
  return new Map(rows.map(({ id, amount }) => [id, parseUsd(amount)]))
}

/** Adds what keys have spent to their totals. @param fromLease how much of it was leased, by key */
export async function postKeySpending(
  transaction: DatabaseTransaction,
  spending: readonly KeySpending[],
  fromLease: ReadonlyMap<string, string>,
): Promise<void> {
  const rows = spending.map(each => ({ ...each, fromLease: fromLease.get(each.keyId) ?? '0' }))
  await sql`
    with s as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as s("keyId" text, amount numeric, "lastUsedAt" timestamptz, "fromLease" numeric)
    )
    insert into api_key_usage as total (api_key_id, used_amount, last_used_at)
    select "keyId", amount, "lastUsedAt" from s
    on conflict (api_key_id) do update set
      used_amount = total.used_amount + excluded.used_amount,
      leased = total.leased - (select "fromLease" from s where "keyId" = total.api_key_id),
      last_used_at = greatest(total.last_used_at, excluded.last_used_at)
  `.execute(transaction)
}

/** What a key has spent, ever. */
export interface KeyUsage {
  /** US dollars as a decimal. */
  readonly usedAmount: string
  /** `null`: something was leased for it, and nothing used. */
  readonly lastUsedAt: Date | null
}

/** By the keys' ids; a key that was never used may be missing. */
export async function readKeyUsages(database: Database, keyIds: readonly string[]): Promise<Map<string, KeyUsage>> {
  const { rows } = await sql<KeyUsage & { keyId: string }>`
    select api_key_id as "keyId", used_amount as "usedAmount", last_used_at as "lastUsedAt"
    from api_key_usage where api_key_id = any(${keyIds})
  `.execute(database)
  return new Map(rows.map(({ keyId, ...usage }) => [keyId, usage]))
}

/** By how much the subjects' `leased` differs from the sum of their leases, all differences added up. */
export async function readDrift(database: Database): Promise<Picodollars> {
  const { rows } = await sql<{ drift: string }>`
    with subject as (
      select 'organization' as kind, id, leased from ledger_accounts
      union all select 'key', api_key_id, leased from api_key_usage
    ), lease as (
      select subject_kind as kind, subject_id as id, sum(amount) as amount from quota_leases group by 1, 2
    )
    select coalesce(sum(abs(coalesce(leased, 0) - coalesce(amount, 0))), 0)::numeric(38, 12) as drift
    from subject full join lease using (kind, id)
    where leased <> 0 or amount is not null
  `.execute(database)
  return parseUsd(rows[0]?.drift ?? '0')
}

import { sql } from 'kysely'
import { type Picodollars, parseUsd } from '#core/money.ts'
import { lockAccounts, postSpending, type SpendInput } from '#ledger/store.ts'
import type { Posted } from '#quota/broker.ts'
import { type KeySpending, postKeySpending, readLeaseAmounts, shrinkLeases } from '#quota/store.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import type { UsageRecord } from './usage-record.ts'

/** What became of a batch of records. */
export interface Inserted extends Posted {
  /** Records that were new. */
  readonly rows: number
}

/**
 * Makes rows of journal records: usage events, their hourly and daily sums, each key's total, and the ledger entries,
 * and takes what was spent out of the leases of the node that spent it, in one transaction. A record that is already
 * there changes nothing.
 *
 * The records travel as the JSON text that the journal holds and are parsed by Postgres: this process never does.
 * Rows of one organization are guarded by its ledger account, which is locked first, so that nodes shipping at the
 * same time cannot deadlock.
 *
 * @param records a JSON array of `UsageRecord`s
 */
export async function insertUsage(database: Database, records: string, nodeId: string): Promise<Inserted> {
  return database.transaction().execute(async transaction => {
    const batch = await sumByPayer(transaction, records)
    await lockAccounts(
      transaction,
      batch.map(({ organizationId }) => organizationId),
    )
    const sums = await insertEvents(transaction, records)
    if (sums.length > 0) await post(transaction, JSON.stringify(sums), nodeId)
    const spent = spentBy(batch)
    return {
      rows: sums.reduce((count, { requests }) => count + requests, 0),
      spent,
      leased: await readLeaseAmounts(transaction, nodeId, [...spent.keys()]),
    }
  })
}

/** A record that Postgres refuses is no longer spending that will be posted. */
export async function writeOff(database: Database, record: string, nodeId: string): Promise<Posted> {
  const { organization_id: organizationId, api_key_id: keyId, cost } = JSON.parse(record) as UsageRecord
  const spent = spentBy([{ organizationId, keyId, cost }])
  return { spent, leased: await readLeaseAmounts(database, nodeId, [...spent.keys()]) }
}

/** What a key of an organization has spent in a batch. */
interface PayerSum {
  readonly organizationId: string
  readonly keyId: string
  readonly cost: string
}

async function sumByPayer(transaction: DatabaseTransaction, records: string): Promise<PayerSum[]> {
  const { rows } = await sql<PayerSum>`
    select record->>'organization_id' as "organizationId", record->>'api_key_id' as "keyId",
           sum((record->>'cost')::numeric)::text as cost
    from jsonb_array_elements(${records}::jsonb) as record
    group by 1, 2
  `.execute(transaction)
  return rows
}

/** By subject: organizations and keys alike. */
function spentBy(sums: readonly PayerSum[]): Map<string, Picodollars> {
  const spent = new Map<string, Picodollars>()
  for (const { organizationId, keyId, cost } of sums) {
    for (const id of [organizationId, keyId]) spent.set(id, (spent.get(id) ?? 0n) + parseUsd(cost))
  }
  return spent
}

/** @param sums the rows just inserted, summed up, as JSON */
async function post(transaction: DatabaseTransaction, sums: string, nodeId: string): Promise<void> {
  await addToRollups(transaction, sums)
  const organizations = await spendingOf(transaction, sums)
  const keys = await keySpendingOf(transaction, sums)
  const fromLease = await shrinkLeases(transaction, nodeId, organizations, keys)
  await postSpending(
    transaction,
    organizations.map(each => ({ ...each, fromLease: fromLease.get(each.organizationId) ?? '0' })),
  )
  await postKeySpending(transaction, keys, fromLease)
}

/** Sums of the rows just inserted, one for each combination that a report can group by. */
interface UsageSum {
  readonly requests: number
}

/** Columns that the journal records carry, with their types; `billing_transaction_id` is given here. */
const RECORD_COLUMNS = sql`
  created_at timestamptz, request_id text, organization_id text, workspace_id text, api_key_id text,
  model text, logical_model text, model_vendor text, scene text, access_channel text, channel_id text,
  delivery_tier text, usage_unit text, usage_quantity numeric, prompt_tokens bigint, completion_tokens bigint,
  total_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, cache_write_tokens_5m bigint,
  cache_write_tokens_1h bigint, audio_input_tokens bigint, audio_output_tokens bigint, reasoning_tokens bigint,
  cost numeric, price_version text, is_estimated boolean, outcome text, attempt smallint, duration_ms integer,
  first_output_ms integer`

/** One statement: insert what is new, and sum up exactly that. One ledger transaction an organization and batch. */
async function insertEvents(transaction: DatabaseTransaction, records: string): Promise<UsageSum[]> {
  const { rows } = await sql<UsageSum>`
    with incoming as (
      select * from jsonb_to_recordset(${records}::jsonb) as record(${RECORD_COLUMNS})
    ), billing as materialized (
      select organization_id, 'btx_' || replace(gen_random_uuid()::text, '-', '') as id
      from incoming group by organization_id
    ), inserted as (
      insert into usage_events (
        created_at, request_id, billing_transaction_id, organization_id, workspace_id, api_key_id, model, logical_model,
        model_vendor, scene, access_channel, channel_id, delivery_tier, usage_unit, usage_quantity, prompt_tokens,
        completion_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cache_write_tokens_5m,
        cache_write_tokens_1h, audio_input_tokens, audio_output_tokens, reasoning_tokens, cost, price_version,
        is_estimated, outcome, attempt, duration_ms, first_output_ms)
      select
        created_at, request_id, billing.id, organization_id, workspace_id, api_key_id, model, logical_model,
        model_vendor, scene, access_channel, channel_id, delivery_tier, usage_unit, usage_quantity, prompt_tokens,
        completion_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cache_write_tokens_5m,
        cache_write_tokens_1h, audio_input_tokens, audio_output_tokens, reasoning_tokens, cost, price_version,
        is_estimated, outcome, attempt, duration_ms, first_output_ms
      from incoming join billing using (organization_id)
      on conflict do nothing
      returning *
    )
    select billing_transaction_id, organization_id, api_key_id, date_trunc('hour', created_at, 'UTC') as hour,
           model, logical_model, model_vendor, scene, access_channel, usage_unit,
           count(*) as requests, sum(cost)::text as cost, sum(usage_quantity)::text as usage_quantity,
           coalesce(sum(prompt_tokens), 0)::bigint as prompt_tokens,
           coalesce(sum(completion_tokens), 0)::bigint as completion_tokens,
           coalesce(sum(total_tokens), 0)::bigint as total_tokens, max(created_at) as last_used_at
    from inserted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
  `.execute(transaction)
  return rows
}

const SUM_COLUMNS = sql`
  billing_transaction_id text, organization_id text, api_key_id text, hour timestamptz, model text, logical_model text,
  model_vendor text, scene text, access_channel text, usage_unit text, requests bigint, cost numeric,
  usage_quantity numeric, prompt_tokens bigint, completion_tokens bigint, total_tokens bigint, last_used_at timestamptz`

/** What a sum is about: a key of an organization, or an organization with all its keys. */
const KEY = sql.raw('organization_id, api_key_id')
const ORGANIZATION = sql.raw('organization_id')

const ROLLUPS = [
  { table: sql.raw('usage_hourly'), owner: KEY, unique: sql.raw('api_key_id, hour'), width: 'hour' },
  { table: sql.raw('usage_daily'), owner: KEY, unique: sql.raw('api_key_id, day'), width: 'day' },
  {
    table: sql.raw('usage_organization_hourly'),
    owner: ORGANIZATION,
    unique: sql.raw('organization_id, hour'),
    width: 'hour',
  },
  {
    table: sql.raw('usage_organization_daily'),
    owner: ORGANIZATION,
    unique: sql.raw('organization_id, day'),
    width: 'day',
  },
]

async function addToRollups(transaction: DatabaseTransaction, sums: string): Promise<void> {
  for (const { table, owner, unique, width } of ROLLUPS) {
    await sql`
      insert into ${table} as rollup (
        ${owner}, ${sql.raw(width)}, model, logical_model, model_vendor, scene, access_channel, usage_unit,
        requests, cost, usage_quantity, prompt_tokens, completion_tokens, total_tokens)
      select ${owner}, date_trunc(${sql.lit(width)}, hour, 'UTC') as at, model, logical_model, model_vendor, scene,
             access_channel, usage_unit, sum(requests), sum(cost), sum(usage_quantity), sum(prompt_tokens),
             sum(completion_tokens), sum(total_tokens)
      from jsonb_to_recordset(${sums}::jsonb) as s(${SUM_COLUMNS})
      group by ${owner}, at, model, logical_model, model_vendor, scene, access_channel, usage_unit
      on conflict (${unique}, model, logical_model, model_vendor, scene, access_channel, usage_unit)
      do update set
        requests = rollup.requests + excluded.requests,
        cost = rollup.cost + excluded.cost,
        usage_quantity = rollup.usage_quantity + excluded.usage_quantity,
        prompt_tokens = rollup.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = rollup.completion_tokens + excluded.completion_tokens,
        total_tokens = rollup.total_tokens + excluded.total_tokens
    `.execute(transaction)
  }
}

async function keySpendingOf(transaction: DatabaseTransaction, sums: string): Promise<KeySpending[]> {
  const { rows } = await sql<KeySpending>`
    select api_key_id as "keyId", sum(cost)::text as amount, max(last_used_at)::text as "lastUsedAt"
    from jsonb_to_recordset(${sums}::jsonb) as s(${SUM_COLUMNS})
    group by api_key_id
  `.execute(transaction)
  return rows
}

async function spendingOf(transaction: DatabaseTransaction, sums: string): Promise<Omit<SpendInput, 'fromLease'>[]> {
  const { rows } = await sql<Omit<SpendInput, 'fromLease'>>`
    select billing_transaction_id as "transactionId", organization_id as "organizationId", sum(cost)::text as amount
    from jsonb_to_recordset(${sums}::jsonb) as s(${SUM_COLUMNS})
    group by 1, 2
  `.execute(transaction)
  return rows
}

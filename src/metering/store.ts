import { sql } from 'kysely'
import { lockAccounts, postSpending, type SpendInput } from '#ledger/store.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'

/**
 * Makes rows of journal records: usage events, their hourly and daily sums, each key's total, and the ledger entries,
 * in one transaction. A record that is already there changes nothing.
 *
 * The records travel as the JSON text that the journal holds and are parsed by Postgres: this process never does.
 * Rows of one organization are guarded by its ledger account, which is locked first, so that nodes shipping at the
 * same time cannot deadlock.
 *
 * @param records a JSON array of `UsageRecord`s
 * @returns how many of them were new
 */
export async function insertUsage(database: Database, records: string): Promise<number> {
  return database.transaction().execute(async transaction => {
    const { rows: organizations } = await sql<{ id: string }>`
      select distinct record->>'organization_id' as id from jsonb_array_elements(${records}::jsonb) as record
    `.execute(transaction)
    await lockAccounts(
      transaction,
      organizations.map(({ id }) => id),
    )
    const sums = await insertEvents(transaction, records)
    if (sums.length === 0) return 0
    const grouped = JSON.stringify(sums)
    await addToRollups(transaction, grouped)
    await addToKeys(transaction, grouped)
    await postSpending(transaction, await spendingOf(transaction, grouped))
    return sums.reduce((count, { requests }) => count + requests, 0)
  })
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
  cost numeric, price_version text, is_estimated boolean, outcome text`

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
        is_estimated, outcome)
      select
        created_at, request_id, billing.id, organization_id, workspace_id, api_key_id, model, logical_model,
        model_vendor, scene, access_channel, channel_id, delivery_tier, usage_unit, usage_quantity, prompt_tokens,
        completion_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cache_write_tokens_5m,
        cache_write_tokens_1h, audio_input_tokens, audio_output_tokens, reasoning_tokens, cost, price_version,
        is_estimated, outcome
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

async function addToKeys(transaction: DatabaseTransaction, sums: string): Promise<void> {
  await sql`
    insert into api_key_usage as total (api_key_id, used_amount, last_used_at)
    select api_key_id, sum(cost), max(last_used_at)
    from jsonb_to_recordset(${sums}::jsonb) as s(${SUM_COLUMNS})
    group by api_key_id
    on conflict (api_key_id) do update set
      used_amount = total.used_amount + excluded.used_amount,
      last_used_at = greatest(total.last_used_at, excluded.last_used_at)
  `.execute(transaction)
}

async function spendingOf(transaction: DatabaseTransaction, sums: string): Promise<SpendInput[]> {
  const { rows } = await sql<SpendInput>`
    select billing_transaction_id as "transactionId", organization_id as "organizationId", sum(cost)::text as amount
    from jsonb_to_recordset(${sums}::jsonb) as s(${SUM_COLUMNS})
    group by 1, 2
  `.execute(transaction)
  return rows
}

/** What a key has spent, ever. */
export interface KeyUsage {
  /** US dollars as a decimal. */
  readonly usedAmount: string
  readonly lastUsedAt: Date
}

/** By the keys' ids; a key that was never used is not among them. */
export async function readKeyUsages(database: Database, keyIds: readonly string[]): Promise<Map<string, KeyUsage>> {
  const { rows } = await sql<KeyUsage & { keyId: string }>`
    select api_key_id as "keyId", used_amount as "usedAmount", last_used_at as "lastUsedAt"
    from api_key_usage where api_key_id = any(${keyIds})
  `.execute(database)
  return new Map(rows.map(({ keyId, ...usage }) => [keyId, usage]))
}

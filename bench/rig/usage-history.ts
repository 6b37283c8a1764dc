import { type RawBuilder, sql } from 'kysely'
import { ensurePartitions } from '../../src/metering/partitions.ts'
import type { Database } from '../../src/storage/database.ts'

/** Ninety days of one key's use. */
export interface UsageHistory {
  readonly keyId: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly rows: number
  readonly from: Date
  readonly to: Date
}

/** Rows that one statement inserts. */
const BATCH = 500_000

/** The share of each in a hundred requests: reports are asked for what is common and for what is rare. */
export const HISTORY_MODELS = { common: 'large-chat', rare: 'rare-chat' } as const
const MODELS = [
  { model: HISTORY_MODELS.common, vendor: 'acme', scene: 'chat', share: 50 },
  { model: 'small-chat', vendor: 'acme', scene: 'chat', share: 24 },
  { model: 'open-chat', vendor: 'globex', scene: 'chat', share: 15 },
  { model: 'text-embedding', vendor: 'globex', scene: 'embedding', share: 10 },
  { model: HISTORY_MODELS.rare, vendor: 'initech', scene: 'chat', share: 1 },
]

/**
 * Writes the rows and then sums them up with the grouping that shipping uses, so that rows and sums agree exactly.
 *
 * @param onBatch told how many rows there are so far
 */
export async function writeHistory(
  database: Database,
  history: UsageHistory,
  onBatch: (rows: number) => void,
): Promise<void> {
  await ensurePartitions(database, history.from, history.to)
  await database.connection().execute(async connection => {
    await sql`set statement_timeout = 0`.execute(connection)
    for (let first = 0; first < history.rows; first += BATCH) {
      const last = Math.min(first + BATCH, history.rows) - 1
      await insertEvents(connection, history, first, last)
      onBatch(last + 1)
    }
    await sumUp(connection)
    // What autovacuum would have done long ago, had the rows come over ninety days.
    await sql`vacuum (analyze)`.execute(connection)
    await sql`reset statement_timeout`.execute(connection)
  })
}

async function insertEvents(connection: Database, history: UsageHistory, first: number, last: number): Promise<void> {
  const stepMs = (history.to.getTime() - history.from.getTime()) / history.rows
  await sql`
    insert into usage_events (
      created_at, request_id, billing_transaction_id, organization_id, workspace_id, api_key_id, model, logical_model,
      model_vendor, scene, access_channel, channel_id, delivery_tier, usage_unit, usage_quantity, prompt_tokens,
      completion_tokens, total_tokens, cache_read_tokens, cost, price_version, is_estimated, outcome)
    select date_trunc('milliseconds', ${history.from}::timestamptz + i * ${stepMs}::float8 * interval '1 millisecond'),
           'req_' || lpad(i::text, 24, '0'), 'btx_' || lpad((i / 300)::text, 32, '0'),
           ${history.organizationId}, ${history.workspaceId}, ${history.keyId}, model, model, vendor, scene,
           'platform', 'bench', 'official', 'per_token', input + output, input, output, input + output, 0,
           input * 0.00000025 + output * 0.000002, 'bench', false, 'completed'
    from (
      select i, 20 + abs(hashint8(i + 1)::bigint) % 3000 as input, 1 + abs(hashint8(i + 2)::bigint) % 900 as output,
             abs(hashint8(i)::bigint) % 100 as draw
      from generate_series(${first}::bigint, ${last}::bigint) as i
    ) as request
    join (${modelTable()}) as kind on draw >= kind.low and draw < kind.high
    order by i
  `.execute(connection)
}

function modelTable(): RawBuilder<unknown> {
  let low = 0
  const rows = MODELS.map(({ model, vendor, scene, share }) => {
    const row = sql`(${model}::text, ${vendor}::text, ${scene}::text, ${low}::bigint, ${low + share}::bigint)`
    low += share
    return row
  })
  return sql`select * from (values ${sql.join(rows)}) as given (model, vendor, scene, low, high)`
}

const KEY = sql.raw('organization_id, api_key_id')
const ORGANIZATION = sql.raw('organization_id')
const ROLLUPS = [
  { table: 'usage_hourly', owner: KEY, width: 'hour' },
  { table: 'usage_daily', owner: KEY, width: 'day' },
  { table: 'usage_organization_hourly', owner: ORGANIZATION, width: 'hour' },
  { table: 'usage_organization_daily', owner: ORGANIZATION, width: 'day' },
]

async function sumUp(connection: Database): Promise<void> {
  for (const { table, owner, width } of ROLLUPS) {
    await sql`
      insert into ${sql.table(table)} (
        ${owner}, ${sql.ref(width)}, model, logical_model, model_vendor, scene, access_channel, usage_unit, requests,
        cost, usage_quantity, prompt_tokens, completion_tokens, total_tokens)
      select ${owner}, date_trunc(${sql.lit(width)}, created_at, 'UTC') as at, model, logical_model, model_vendor, scene,
             access_channel, usage_unit, count(*), sum(cost), sum(usage_quantity), sum(prompt_tokens),
             sum(completion_tokens), sum(total_tokens)
      from usage_events
      group by ${owner}, at, model, logical_model, model_vendor, scene, access_channel, usage_unit
    `.execute(connection)
  }
  await sql`
    insert into api_key_usage (api_key_id, used_amount, last_used_at)
    select api_key_id, sum(cost), max(created_at) from usage_events group by 1
  `.execute(connection)
}

/** Rows that a report over `from` to `to` (inclusive) is about, counted one by one. */
export async function countRows(
  database: Database,
  { from, to, model }: { from: string; to: string; model?: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from usage_events
    where created_at >= ${from}::timestamptz and created_at <= ${to}::timestamptz
      and (${model ?? null}::text is null or model = ${model ?? null})
  `.execute(database)
  return rows[0]?.count ?? 0
}

import { type RawBuilder, sql } from 'kysely'
import type { AccessChannel, Scene } from '#core/scene.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import type { Outcome } from '../usage-record.ts'
import { cutSpan, type Piece, type Span } from './span.ts'

/** Whose requests a report is about: those of one key, or of all keys of an organization. */
export type UsageOwner = { readonly kind: 'key' | 'organization'; readonly id: string }

/** Which of an owner's requests a report is about. */
export interface UsageFilter extends Span {
  readonly owner: UsageOwner
  readonly model?: string | undefined
  readonly modelVendor?: string | undefined
  readonly scene?: Scene | undefined
  readonly accessChannel?: AccessChannel | undefined
}

/** Sums over one combination of everything that a report groups by. Decimals are texts. */
export interface UsageGroup {
  readonly model: string
  readonly logical_model: string
  readonly model_vendor: string
  readonly scene: Scene
  readonly access_channel: AccessChannel
  readonly usage_unit: string
  readonly requests: number
  readonly cost: string
  readonly usage_quantity: string
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

export interface UsageItem
  extends Omit<UsageGroup, 'requests' | 'prompt_tokens' | 'completion_tokens' | 'total_tokens'> {
  readonly request_id: string
  readonly billing_transaction_id: string
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  readonly total_tokens: number | null
  readonly cache_read_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly cache_write_tokens_5m: number | null
  readonly cache_write_tokens_1h: number | null
  readonly outcome: Outcome
  readonly created_at: Date
}

const TIMES = { daily: sql.raw('day'), hourly: sql.raw('hour'), events: sql.raw('created_at') } as const

/** Each owner has sums of its own, so that a report reads as few rows for an organization as for a key. */
const OWNERS = {
  key: {
    column: sql.raw('api_key_id'),
    tables: { daily: sql.raw('usage_daily'), hourly: sql.raw('usage_hourly'), events: sql.raw('usage_events') },
  },
  organization: {
    column: sql.raw('organization_id'),
    tables: {
      daily: sql.raw('usage_organization_daily'),
      hourly: sql.raw('usage_organization_hourly'),
      events: sql.raw('usage_events'),
    },
  },
} as const

function tableOf(
  { owner }: UsageFilter,
  source: Piece['source'],
): { table: RawBuilder<unknown>; time: RawBuilder<unknown> } {
  return { table: OWNERS[owner.kind].tables[source], time: TIMES[source] }
}

export async function readGroups(transaction: DatabaseTransaction, filter: UsageFilter): Promise<UsageGroup[]> {
  const { rows } = await sql<UsageGroup>`
    select model, logical_model, model_vendor, scene, access_channel, usage_unit,
           sum(requests)::bigint as requests, sum(cost)::text as cost, sum(usage_quantity)::text as usage_quantity,
           sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
           sum(total_tokens)::bigint as total_tokens
    from (${union(filter)}) as piece
    group by 1, 2, 3, 4, 5, 6
  `.execute(transaction)
  return rows
}

export interface UsageDay {
  /** Midnight UTC. */
  readonly day: Date
  readonly cost: string
}

export async function readDays(transaction: DatabaseTransaction, filter: UsageFilter): Promise<UsageDay[]> {
  const { rows } = await sql<UsageDay>`
    select date_trunc('day', at, 'UTC') as day, sum(cost)::text as cost
    from (${union(filter)}) as piece group by 1 order by 1
  `.execute(transaction)
  return rows
}

/** All pieces of the filter's span, each from the coarsest table that has it. */
function union(filter: UsageFilter): RawBuilder<unknown> {
  const pieces = cutSpan(filter).map(piece => {
    const { table, time } = tableOf(filter, piece.source)
    const sums =
      piece.source === 'events'
        ? sql`1 as requests, cost, usage_quantity, coalesce(prompt_tokens, 0) as prompt_tokens,
              coalesce(completion_tokens, 0) as completion_tokens, coalesce(total_tokens, 0) as total_tokens`
        : sql`requests, cost, usage_quantity, prompt_tokens, completion_tokens, total_tokens`
    return sql`
      select ${time} as at, model, logical_model, model_vendor, scene, access_channel, usage_unit, ${sums}
      from ${table} where ${matches(filter, piece)}`
  })
  return sql.join(pieces, sql` union all `)
}

/** Conditions on the columns that events and sums share. */
function matches(filter: UsageFilter, { source, from, to }: Piece): RawBuilder<unknown> {
  const { time } = tableOf(filter, source)
  const conditions = [sql`${OWNERS[filter.owner.kind].column} = ${filter.owner.id}`]
  if (Number.isFinite(from)) conditions.push(sql`${time} >= ${new Date(from)}`)
  if (Number.isFinite(to)) conditions.push(sql`${time} < ${new Date(to)}`)
  if (filter.model !== undefined) conditions.push(sql`model = ${filter.model}`)
  if (filter.modelVendor !== undefined) conditions.push(sql`model_vendor = ${filter.modelVendor}`)
  if (filter.scene !== undefined) conditions.push(sql`scene = ${filter.scene}`)
  if (filter.accessChannel !== undefined) conditions.push(sql`access_channel = ${filter.accessChannel}`)
  return sql.join(conditions, sql` and `)
}

/** A page of single requests, newest first. */
export async function readItems(
  transaction: DatabaseTransaction,
  filter: UsageFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<UsageItem[]> {
  const start = await seek(transaction, filter, offset)
  if (!start) return []
  const { rows } = await sql<UsageItem>`
    select ${ITEM_COLUMNS} from usage_events
    where ${matches(filter, { source: 'events', from: filter.from, to: start.to })}
    order by created_at desc, request_id desc
    limit ${limit} offset ${start.offset}
  `.execute(transaction)
  return rows
}

const ITEM_COLUMNS = sql`
  request_id, billing_transaction_id, model, logical_model, model_vendor, scene, access_channel, usage_unit,
  usage_quantity, prompt_tokens, completion_tokens, total_tokens, cache_read_tokens, cache_write_tokens,
  cache_write_tokens_5m, cache_write_tokens_1h, cost, outcome, created_at`

/** The requests that come after a certain one when the newest comes first; the newest where none is given. */
export async function readItemsAfter(
  database: Database,
  filter: UsageFilter,
  { last, limit }: { last: UsageItem | undefined; limit: number },
): Promise<UsageItem[]> {
  // Times have milliseconds in the journal, so that a Date is exact here.
  const older = last ? sql`and (created_at, request_id) < (${last.created_at}, ${last.request_id})` : sql``
  const { rows } = await sql<UsageItem>`
    select ${ITEM_COLUMNS} from usage_events
    where ${matches(filter, { source: 'events', from: filter.from, to: filter.to })} ${older}
    order by created_at desc, request_id desc
    limit ${limit}
  `.execute(database)
  return rows
}

/** Rows that may be skipped one by one; beyond them the sums show the way. */
const OFFSET_MAX = 1_000

interface Start {
  /** Rows at or after this are all skipped. */
  readonly to: number
  /** Rows before it still to skip. */
  readonly offset: number
}

/**
 * Where a page begins. Skipping rows one by one costs time in proportion to their number; here whole days and then
 * whole hours are skipped by their counts, so that the last page of ten million rows costs what the first one does.
 */
async function seek(transaction: DatabaseTransaction, filter: UsageFilter, offset: number): Promise<Start | undefined> {
  if (offset <= OFFSET_MAX) return { to: filter.to, offset }
  let skip = offset
  for (const piece of cutSpan(filter).toReversed()) {
    const found = await seekInPiece(transaction, filter, piece, skip)
    if ('to' in found) return found
    skip -= found.rows
  }
  return undefined
}

async function seekInPiece(
  transaction: DatabaseTransaction,
  filter: UsageFilter,
  piece: Piece,
  skip: number,
): Promise<Start | { rows: number }> {
  const { table, time } = tableOf(filter, piece.source)
  if (piece.source === 'events') {
    const { rows } = await sql<{ count: number }>`
      select count(*) from ${table} where ${matches(filter, piece)}
    `.execute(transaction)
    const count = rows[0]?.count ?? 0
    return skip < count ? { to: piece.to, offset: skip } : { rows: count }
  }
  const { rows: buckets } = await sql<{ at: Date; requests: number }>`
    select ${time} as at, sum(requests)::bigint as requests from ${table}
    where ${matches(filter, piece)} group by 1 order by 1 desc
  `.execute(transaction)
  let passed = 0
  for (const { at, requests } of buckets) {
    if (skip < passed + requests) {
      const from = at.getTime()
      const rest = skip - passed
      if (piece.source === 'hourly') return { to: from + HOUR_MS, offset: rest }
      return seekInPiece(transaction, filter, { source: 'hourly', from, to: from + 24 * HOUR_MS }, rest)
    }
    passed += requests
  }
  return { rows: passed }
}

const HOUR_MS = 3_600_000

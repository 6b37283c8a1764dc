import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'

/** Invoices come monthly, and disputes take a while. */
const KEPT = sql`interval '100 days'`

const COLUMNS = sql`
  failed_at, request_id, attempt, organization_id, workspace_id, api_key_id, model, channel_id, upstream_model, kind,
  reason, status, upstream_request_id, possible_cost`

/**
 * Makes rows of journal records. One that is already there changes nothing.
 *
 * @param records a JSON array of the journal's payloads
 */
export async function insertFailedAttempts(database: Database, records: string): Promise<void> {
  await sql`
    insert into failed_attempts (${COLUMNS})
    select ${COLUMNS} from jsonb_array_elements(${records}::jsonb) as payload, jsonb_to_record(payload->'failed_attempt')
    as record (
      failed_at timestamptz, request_id text, attempt smallint, organization_id text, workspace_id text,
      api_key_id text, model text, channel_id text, upstream_model text, kind text, reason text, status smallint,
      upstream_request_id text, possible_cost numeric)
    on conflict do nothing
  `.execute(database)
}

export async function pruneFailedAttempts(database: Database): Promise<void> {
  await sql`delete from failed_attempts where failed_at < now() - ${KEPT}`.execute(database)
}

/** Failed calls that have the same cause. */
export interface FailureSum {
  readonly channelId: string
  readonly upstreamModel: string
  readonly kind: string
  readonly reason: string
  readonly attempts: number
  /** US dollars as a decimal. */
  readonly possibleCost: string
}

/** What failed since a moment, what may cost most first. */
export async function sumFailedAttempts(database: Database, since: Date): Promise<FailureSum[]> {
  const { rows } = await sql<FailureSum>`
    select channel_id as "channelId", upstream_model as "upstreamModel", kind, reason, count(*) as attempts,
           trim_scale(sum(possible_cost))::text as "possibleCost"
    from failed_attempts where failed_at >= ${since}
    group by 1, 2, 3, 4 order by sum(possible_cost) desc, count(*) desc, 1, 2, 3, 4
  `.execute(database)
  return rows
}

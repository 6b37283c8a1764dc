import { sql } from 'kysely'
import type { AccessChannel } from '#core/scene.ts'
import type { HeaderMap } from '#core/sink.ts'
import type { Usage } from '#core/usage.ts'
import type { Database } from '#storage/database.ts'

/** Where an answer is found: a workspace reaches its own only. */
export interface AnswerPlace {
  readonly workspaceId: string
  readonly key: Buffer
}

export interface AnswerRow {
  readonly channelId: string
  readonly accessChannel: AccessChannel
  readonly headers: HeaderMap
  /** Its tokens are kept. Other units are only billed, by a quantity that an answer given again does not have. */
  readonly usage: Usage
  readonly isEstimated: boolean
  /** Compressed. */
  readonly body: Buffer
}

export interface AnswerInput extends AnswerRow, AnswerPlace {
  readonly organizationId: string
  /** What it counts against the bound. */
  readonly bytes: number
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** An answer to the same request that is there already is replaced. */
export async function insertAnswer(database: Database, input: AnswerInput): Promise<void> {
  const { units: _, ...tokens } = input.usage
  await sql`
    insert into cached_answers (workspace_id, key, organization_id, channel_id, access_channel, headers, usage,
                                is_estimated, body, bytes, created_at, expires_at)
    values (${input.workspaceId}, ${input.key}, ${input.organizationId}, ${input.channelId}, ${input.accessChannel},
            ${JSON.stringify(input.headers)}::json, ${JSON.stringify(tokens)}::json, ${input.isEstimated},
            ${input.body}, ${input.bytes}, ${input.createdAt}, ${input.expiresAt})
    on conflict (workspace_id, key) do update set
      channel_id = excluded.channel_id, access_channel = excluded.access_channel, headers = excluded.headers,
      usage = excluded.usage, is_estimated = excluded.is_estimated, body = excluded.body, bytes = excluded.bytes,
      created_at = excluded.created_at, expires_at = excluded.expires_at
  `.execute(database)
}

/** @param madeAfter an older answer does not count, nor does one that has expired `now` */
export async function readAnswer(
  database: Database,
  { workspaceId, key }: AnswerPlace,
  { now, madeAfter }: { now: Date; madeAfter: Date },
): Promise<(AnswerRow & { readonly createdAt: Date }) | undefined> {
  const { rows } = await sql<AnswerRow & { createdAt: Date }>`
    select channel_id as "channelId", access_channel as "accessChannel", headers, usage, is_estimated as "isEstimated",
           body, created_at as "createdAt"
    from cached_answers
    where workspace_id = ${workspaceId} and key = ${key} and expires_at > ${now} and created_at > ${madeAfter}
  `.execute(database)
  return rows[0]
}

/** @returns how many there were */
export async function deleteAnswers(database: Database, workspaceId: string): Promise<number> {
  const { numAffectedRows } = await sql`delete from cached_answers where workspace_id = ${workspaceId}`.execute(
    database,
  )
  return Number(numAffectedRows ?? 0)
}

/** Any number of nodes may do this at the same time: each takes others. @returns how many there were, `countMax` at most */
export async function deleteExpired(database: Database, now: Date, countMax: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from cached_answers where (workspace_id, key) in (
      select workspace_id, key from cached_answers where expires_at <= ${now}
      order by expires_at limit ${countMax} for update skip locked
    )
  `.execute(database)
  return Number(numAffectedRows ?? 0)
}

export interface OrganizationBytes {
  readonly organizationId: string
  readonly bytes: number
}

export async function readBytes(database: Database): Promise<OrganizationBytes[]> {
  const { rows } = await sql<OrganizationBytes>`
    select organization_id as "organizationId", sum(bytes)::bigint as bytes from cached_answers group by 1
  `.execute(database)
  return rows
}

/**
 * Deletes an organization's oldest answers until it has `bytesMax` or less. What goes follows from what is there, so
 * that several nodes that do this at once delete no more than one would.
 *
 * @returns how many went
 */
export async function evictOldest(database: Database, organizationId: string, bytesMax: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from cached_answers where (workspace_id, key) in (
      select workspace_id, key from (
        select workspace_id, key, sum(bytes) over (order by created_at desc, workspace_id, key) as bytes_so_far
        from cached_answers where organization_id = ${organizationId}
      ) as newest_first
      where bytes_so_far > ${bytesMax}
    )
  `.execute(database)
  return Number(numAffectedRows ?? 0)
}

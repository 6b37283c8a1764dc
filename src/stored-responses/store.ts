import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#storage/database.ts'

/** An item of a conversation: the format's own object. */
export type Item = Readonly<Record<string, unknown>>

export interface ResponseInput {
  readonly workspaceId: string
  readonly responseId: string
  readonly previousResponseId: string | undefined
  readonly model: string
  /** JSON texts. */
  readonly input: string
  readonly response: string
  readonly itemIds: readonly string[]
}

export async function insertResponse(database: Database, input: ResponseInput, expiresAt: Date): Promise<void> {
  const bytes = Buffer.byteLength(input.input) + Buffer.byteLength(input.response)
  await sql`
    with stored as (
      insert into stored_responses (workspace_id, response_id, previous_response_id, model, input, response, bytes,
                                    expires_at)
      values (${input.workspaceId}, ${input.responseId}, ${input.previousResponseId ?? null}, ${input.model},
              ${input.input}::json, ${input.response}::json, ${bytes}, ${expiresAt})
      returning workspace_id, response_id
    )
    insert into stored_response_items (workspace_id, response_id, item_id)
    select distinct workspace_id, response_id, item_id from stored, unnest(${input.itemIds}::text[]) as item_id
  `.execute(database)
}

/** One request and its answer, as a later request needs them. */
export interface Exchanged {
  readonly input: readonly Item[]
  readonly response: { readonly output: readonly Item[] }
  /** Bytes of this one and of all that were found before it. */
  readonly bytesSoFar: number
}

export interface Link extends Exchanged {
  readonly previousResponseId: string | null
}

/**
 * A response and those that it went on from, the youngest first, until there is no earlier one, one is missing, or a
 * limit is reached. All of them are kept until `expiresAt` at least.
 *
 * @param bytesMax reading stops behind the response that exceeds it
 */
export async function readChain(
  database: Database,
  { workspaceId, responseId }: { workspaceId: string; responseId: string },
  { linksMax, bytesMax, expiresAt }: { linksMax: number; bytesMax: number; expiresAt: Date },
): Promise<Link[]> {
  const { rows } = await sql<Link>`
    with recursive chain as (
      select response_id, previous_response_id, bytes as bytes_so_far, 1 as links
      from stored_responses
      where workspace_id = ${workspaceId} and response_id = ${responseId} and expires_at > now()
      union all
      select earlier.response_id, earlier.previous_response_id, bytes_so_far + earlier.bytes, links + 1
      from chain join stored_responses earlier on earlier.response_id = chain.previous_response_id
      where earlier.workspace_id = ${workspaceId} and earlier.expires_at > now()
        and links < ${linksMax} and bytes_so_far <= ${bytesMax}
    ), prolonged as (${prolong(workspaceId, sql`select response_id from chain`, expiresAt)})
    select chain.previous_response_id as "previousResponseId", input, response, bytes_so_far as "bytesSoFar"
    from chain join stored_responses stored on stored.response_id = chain.response_id
    where workspace_id = ${workspaceId}
    order by links
  `.execute(database)
  return rows
}

/**
 * The responses that have items of these ids, each id's youngest, the youngest last. All of them are kept until
 * `expiresAt` at least.
 *
 * @param bytesMax nothing is read behind the response that exceeds it
 */
export async function readItemOwners(
  database: Database,
  { workspaceId, itemIds }: { workspaceId: string; itemIds: readonly string[] },
  { bytesMax, expiresAt }: { bytesMax: number; expiresAt: Date },
): Promise<Exchanged[]> {
  const { rows } = await sql<Exchanged>`
    with youngest as (
      select distinct on (item_id) item_id, response_id
      from stored_response_items join stored_responses using (workspace_id, response_id)
      where workspace_id = ${workspaceId} and item_id = any(${itemIds}::text[]) and expires_at > now()
      order by item_id, created_at desc
    ), owners as (
      select distinct response_id from youngest
    ), prolonged as (${prolong(workspaceId, sql`select response_id from owners`, expiresAt)}), sized as (
      select response_id, created_at, bytes, sum(bytes) over (order by created_at, response_id)::bigint as bytes_so_far
      from owners join stored_responses using (response_id)
      where workspace_id = ${workspaceId}
    )
    select input, response, bytes_so_far as "bytesSoFar"
    from sized join stored_responses stored on stored.response_id = sized.response_id
    where workspace_id = ${workspaceId} and bytes_so_far - sized.bytes <= ${bytesMax}
    order by bytes_so_far
  `.execute(database)
  return rows
}

/** What another node is prolonging at the same moment is left to it: neither waits for the other. */
function prolong(workspaceId: string, responseIds: RawBuilder<unknown>, expiresAt: Date): RawBuilder<unknown> {
  return sql`
    update stored_responses set expires_at = ${expiresAt}
    where (workspace_id, response_id) in (
      select workspace_id, response_id from stored_responses
      where workspace_id = ${workspaceId} and response_id in (${responseIds}) and expires_at < ${expiresAt}
      for update skip locked
    )`
}

/** @returns JSON text */
export async function readResponse(
  database: Database,
  workspaceId: string,
  responseId: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ response: string }>`
    select response::text from stored_responses
    where workspace_id = ${workspaceId} and response_id = ${responseId} and expires_at > now()
  `.execute(database)
  return rows[0]?.response
}

export async function readInput(
  database: Database,
  workspaceId: string,
  responseId: string,
): Promise<Item[] | undefined> {
  const { rows } = await sql<{ input: Item[] }>`
    select input from stored_responses
    where workspace_id = ${workspaceId} and response_id = ${responseId} and expires_at > now()
  `.execute(database)
  return rows[0]?.input
}

/** @returns whether there was such a response */
export async function deleteResponse(database: Database, workspaceId: string, responseId: string): Promise<boolean> {
  const { rows } = await sql<{ isCurrent: boolean }>`
    delete from stored_responses where workspace_id = ${workspaceId} and response_id = ${responseId}
    returning expires_at > now() as "isCurrent"
  `.execute(database)
  return rows[0]?.isCurrent ?? false
}

/** Any number of nodes may do this at the same time: each takes others. @returns how many there were, `countMax` at most */
export async function deleteExpired(database: Database, countMax: number): Promise<number> {
  const { rows } = await sql`
    delete from stored_responses where (workspace_id, response_id) in (
      select workspace_id, response_id from stored_responses where expires_at <= now()
      order by expires_at limit ${countMax} for update skip locked
    )
    returning 1
  `.execute(database)
  return rows.length
}

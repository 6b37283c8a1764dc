import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import type { ClaimedPart, GivenLoan, Loan, LoanName, Need, Notices, RateBoard, StatedNeed } from './board.ts'

/** The board in Postgres. */
export function rateBoard(database: Database): RateBoard {
  return {
    claim: (terms, decide) =>
      database.transaction().execute(async transaction => {
        const { nodeId, leftMs, silenceMs = null } = terms
        await sql`lock table rate_nodes in share row exclusive mode`.execute(transaction)
        await sql`
          delete from rate_nodes where node_id <> ${nodeId} and (
            left_at < now() - ${leftMs}::float8 * interval '1 millisecond' or
            seen_at < now() - ${silenceMs}::float8 * interval '1 millisecond')
        `.execute(transaction)
        const { rows } = await sql<Omit<ClaimedPart, 'divisor'> & { divisor: number | null }>`
          select node_id as "nodeId", divisor, left_at is not null as "hasLeft" from rate_nodes
          where node_id <> ${nodeId}
        `.execute(transaction)
        const divisor = decide(rows.map(row => ({ ...row, divisor: row.divisor ?? Number.POSITIVE_INFINITY })))
        await sql`
          insert into rate_nodes (node_id, divisor, seen_at)
          values (${nodeId}, ${Number.isFinite(divisor) ? divisor : null}, now())
          on conflict (node_id) do update set divisor = excluded.divisor, seen_at = excluded.seen_at, left_at = null
        `.execute(transaction)
      }),
    leave: async nodeId => {
      await sql`update rate_nodes set left_at = now() where node_id = ${nodeId}`.execute(database)
    },
    consult: (nodeId, needs, freshMs) => consult(database, nodeId, needs, freshMs),
    move: (nodeId, loans, returns) => move(database, nodeId, loans, returns),
    tidy: async (nodeId, keptMs) => {
      await sql`
        with needs as (
          delete from rate_needs
          where node_id = ${nodeId} and stated_at < now() - ${keptMs}::float8 * interval '1 millisecond'
        )
        delete from rate_loans
        where lender = ${nodeId} and ends_at < now() - ${keptMs}::float8 * interval '1 millisecond'
      `.execute(database)
    },
  }
}

async function consult(database: Database, nodeId: string, needs: readonly Need[], freshMs: number): Promise<Notices> {
  const { rows } = await sql<{ databaseMs: number; needs: StatedNeed[]; loans: Loan[] }>`
    with stated as (
      insert into rate_needs (subject, node_id, per_window, wanted, stated_at)
      select subject, ${nodeId}, "limit", wanted, now()
      from jsonb_to_recordset(${JSON.stringify(needs)}::jsonb) as need(subject text, "limit" integer, wanted integer)
      on conflict (subject, node_id) do update set
        per_window = excluded.per_window, wanted = excluded.wanted, stated_at = excluded.stated_at
    )
    select
      extract(epoch from now())::float8 * 1000 as "databaseMs",
      (select coalesce(jsonb_agg(jsonb_build_object(
          'subject', subject, 'nodeId', node_id, 'limit', per_window, 'wanted', wanted)), '[]')
        from rate_needs
        where node_id <> ${nodeId} and stated_at > now() - ${freshMs}::float8 * interval '1 millisecond') as needs,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'subject', subject, 'lender', lender, 'borrower', borrower, 'slots', slots,
          'leftMs', extract(epoch from ends_at - now()) * 1000)), '[]')
        from rate_loans where lender = ${nodeId} or borrower = ${nodeId}) as loans
  `.execute(database)
  return rows[0] as Notices
}

async function move(
  database: Database,
  nodeId: string,
  loans: readonly GivenLoan[],
  returns: readonly LoanName[],
): Promise<void> {
  await sql`
    with given as (
      insert into rate_loans (subject, lender, borrower, slots, ends_at)
      select subject, ${nodeId}, borrower, slots, to_timestamp("endsAtDatabaseMs" / 1000)
      from jsonb_to_recordset(${JSON.stringify(loans)}::jsonb)
        as loan(subject text, borrower text, slots integer, "endsAtDatabaseMs" float8)
      on conflict (subject, lender, borrower) do update set slots = excluded.slots, ends_at = excluded.ends_at
    )
    update rate_loans loan set slots = 0, ends_at = now()
    from jsonb_to_recordset(${JSON.stringify(returns)}::jsonb) as returned(subject text, lender text)
    where borrower = ${nodeId} and loan.subject = returned.subject and loan.lender = returned.lender
  `.execute(database)
}

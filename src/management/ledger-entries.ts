import { Type } from 'typebox'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { hasEntry, type LedgerEntry, pageEntries } from '#ledger/store.ts'
import { decodeListQuery, ListQuerySchema, toPage, unknownCursor } from './list-query.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import { usdFields } from './usd-fields.ts'

/** `GET /v1/management/ledger-entries`: every movement on the organization's account. */
export function ledgerEntries(deps: ManagementDeps): AnyRoute {
  const { database } = deps
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/ledger-entries',
    bodyBytesMax: 0,
    handle: async ({ query, sink }, { organizationId }) => {
      const { limit, after } = decodeListQuery(query)
      if (after !== undefined && !(await hasEntry(database, organizationId, after))) throw unknownCursor('an entry')
      const entries = await pageEntries(database, organizationId, { after, limit: limit + 1 })
      sendJson(sink, 200, toPage(entries.map(toApi), limit))
    },
    docs: {
      tag: 'Money',
      summary: "Movements on the organization's account, newest first",
      query: ListQuerySchema,
      response: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(
          Type.Object({
            billing_transaction_id: Type.String({
              description: 'As in usage reports; also the place to read on `after`',
            }),
            kind: Type.Enum(['credit', 'adjustment', 'usage']),
            amount: Type.Number({ description: 'USD; what was spent or taken back is negative' }),
            amount_decimal: Type.String(),
            reason: Type.Union([Type.String(), Type.Null()]),
            created_at: Type.String({ format: 'date-time' }),
          }),
        ),
        has_more: Type.Boolean(),
      }),
      errors: [400, 401],
    },
  })
}

function toApi({ transactionId, kind, amount, reason, createdAt }: LedgerEntry): Record<string, unknown> {
  return {
    billing_transaction_id: transactionId,
    kind,
    ...usdFields('amount', amount),
    reason,
    created_at: createdAt.toISOString(),
  }
}

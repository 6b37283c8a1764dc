import { Type } from 'typebox'
import { formatUsd } from '#core/money.ts'
import { type AnyRoute, sendJson } from '#http/inbound/route.ts'
import { availableOf, readBalance } from '#ledger/store.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import { usdFields } from './usd-fields.ts'

const NO_MONEY = Object.freeze({ credited: 0n, spent: 0n, held: 0n })

/** `GET /v1/management/balance`: what the token's organization may still spend, and why. */
export function balance(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/balance',
    bodyBytesMax: 0,
    handle: async ({ sink }, { organizationId }) => {
      const read = (await readBalance(deps.database, organizationId)) ?? NO_MONEY
      sendJson(sink, 200, {
        object: 'organization_balance',
        organization_id: organizationId,
        currency: 'USD',
        ...usdFields('available', formatUsd(availableOf(read))),
        ...usdFields('credited', formatUsd(read.credited)),
        ...usdFields('spent', formatUsd(read.spent)),
        ...usdFields('held', formatUsd(read.held)),
      })
    },
    docs: {
      tag: 'Money',
      summary: 'Balance of the organization: available = credited - spent - held',
      response: Type.Object({
        object: Type.Literal('organization_balance'),
        organization_id: Type.String(),
        currency: Type.Literal('USD'),
        available: Type.Number({
          description: 'What requests may still be charged. What nodes have leased is part of it: it is not spent yet',
        }),
        available_decimal: Type.String(),
        credited: Type.Number({ description: 'All that was ever added, less what was taken back' }),
        credited_decimal: Type.String(),
        spent: Type.Number(),
        spent_decimal: Type.String(),
        held: Type.Number({ description: 'Kept for work that is under way' }),
        held_decimal: Type.String(),
      }),
      errors: [401],
    },
  })
}

import { Type } from 'typebox'
import type { AnyRoute } from '#http/inbound/route.ts'
import { sendStream } from '#http/inbound/send-stream.ts'
import { encodeCsvRow } from '#lib/csv.ts'
import { exportUsage } from '#metering/report/export.ts'
import { toApi } from '#metering/report/report.ts'
import type { UsageFilter, UsageItem } from '#metering/report/store.ts'
import type { Database } from '#storage/database.ts'
import { type ManagementDeps, managementRoute } from './management-route.ts'
import { decodeUsageQuery, UsageFilterSchema } from './usage-query.ts'

const CSV_HEADERS = Object.freeze({
  'content-type': 'text/csv; charset=utf-8; header=present',
  'content-disposition': 'attachment; filename="usage.csv"',
})

/** Fields of the report's items; of those that are there twice, the exact one. */
const COLUMNS = [
  'created_at',
  'request_id',
  'billing_transaction_id',
  'model',
  'logical_model',
  'model_vendor',
  'scene',
  'access_channel',
  'usage_unit',
  'usage_quantity_decimal',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_tokens_5m',
  'cache_write_tokens_1h',
  'cost_decimal',
  'cached',
] as const

/** `GET /v1/management/usage/export`: every request of the organization as CSV, however many there are. */
export function usageExport(deps: ManagementDeps): AnyRoute {
  return managementRoute(deps, {
    method: 'GET',
    path: '/v1/management/usage/export',
    bodyBytesMax: 0,
    handle: async ({ query, sink }, { organizationId }) => {
      const { page: _page, limit: _limit, ...filter } = decodeUsageQuery(query)
      const owner = { kind: 'organization', id: organizationId } as const
      await sendStream(sink, { status: 200, headers: CSV_HEADERS }, encodeExport(deps.database, { owner, ...filter }))
    },
    docs: {
      tag: 'Usage',
      summary: "The organization's requests as CSV, newest first",
      query: UsageFilterSchema,
      contentType: 'text/csv',
      response: Type.String({ description: `RFC 4180 with the header ${COLUMNS.join(',')}` }),
      errors: [400, 401],
    },
  })
}

/** The header comes with the first rows: a database that cannot be reached is answered in words, not in half a file. */
async function* encodeExport(database: Database, filter: UsageFilter): AsyncGenerator<Uint8Array> {
  let head = encodeCsvRow(COLUMNS)
  for await (const items of exportUsage(database, filter)) {
    yield Buffer.from(head + items.map(encodeItem).join(''))
    head = ''
  }
  if (head !== '') yield Buffer.from(head)
}

function encodeItem(item: UsageItem): string {
  const fields = toApi(item)
  return encodeCsvRow(COLUMNS.map(name => fields[name] as string | number | boolean | null))
}

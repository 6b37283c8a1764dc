import { Type } from 'typebox'
import { type UsageReport as Report, reportUsage } from '#metering/report/report.ts'
import type { UsageOwner } from '#metering/report/store.ts'
import type { Database } from '#storage/database.ts'
import { decodeUsageQuery } from './usage-query.ts'

/** Fields of an answer with a usage report, as documentation. */
export const USAGE_REPORT_FIELDS = {
  items: Type.Array(Type.Unknown()),
  pagination: Type.Object({
    page: Type.Integer(),
    limit: Type.Integer(),
    total: Type.Integer(),
    totalPages: Type.Integer(),
  }),
  summary: Type.Unknown(),
  breakdowns: Type.Unknown(),
}

/** The report that a query asks for. @throws Fault `invalid_request` naming the parameter */
export function reportFor(database: Database, owner: UsageOwner, query: URLSearchParams): Promise<Report> {
  const { page, limit, ...filter } = decodeUsageQuery(query)
  return reportUsage(database, { owner, ...filter }, { page, limit })
}

import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 100

/** Query of a list that is read on from any of its elements. */
export const ListQuerySchema = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
  after: Type.Optional(Type.String({ description: 'Id of the last element of the page before' })),
})

export interface ListQuery {
  readonly limit: number
  readonly after: string | undefined
}

/** @throws Fault `invalid_request` naming the parameter */
export function decodeListQuery(query: URLSearchParams): ListQuery {
  const text = query.get('limit') ?? String(LIMIT_DEFAULT)
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > LIMIT_MAX) {
    throw new Fault('invalid_request', `\`limit\` must be an integer from 1 to ${LIMIT_MAX}.`, { param: 'limit' })
  }
  return { limit, after: query.get('after') ?? undefined }
}

/** An element that another workspace has is as unknown as one that never was. */
export function unknownCursor(noun: string): Fault {
  return new Fault('invalid_request', `\`after\` must be the id of ${noun} of this list.`, { param: 'after' })
}

/**
 * The page that was asked for.
 *
 * @param rows one more than the limit where there are so many: the one by which we know that there are more
 */
export function toPage<T>(rows: readonly T[], limit: number): { object: 'list'; data: T[]; has_more: boolean } {
  return { object: 'list', data: rows.slice(0, limit), has_more: rows.length > limit }
}

import { type Static, Type } from 'typebox'
import { Fault } from '#core/fault.ts'

/** Pages of a list of items, as OpenAI's lists have them. */

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
const ORDERS = ['desc', 'asc'] as const

export const ItemPageQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
  order: Type.Optional(Type.Enum(ORDERS, { default: 'desc', description: '`desc`: the last item first' })),
  after: Type.Optional(Type.String({ description: 'Id of the last item of the page before' })),
})

const Item = Type.Object({ id: Type.String(), type: Type.String() }, { additionalProperties: true })

export const ItemPage = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Item),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
})

/**
 * The page of `items` that a query asks for.
 *
 * @param items in their own order, each with an id
 * @throws Fault `invalid_request` naming the parameter
 */
export function itemPage(
  items: readonly Readonly<Record<string, unknown>>[],
  query: URLSearchParams,
): Static<typeof ItemPage> {
  const limit = decodeLimit(query.get('limit'))
  const all = (decodeOrder(query.get('order')) === 'desc' ? items.toReversed() : items) as Static<typeof Item>[]
  const rest = all.slice(decodeStart(all, query.get('after')))
  const data = rest.slice(0, limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > limit,
  }
}

function decodeLimit(text: string | null): number {
  if (text === null) return LIMIT_DEFAULT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT_MAX) return limit
  throw wrong('limit', `must be an integer from 1 to ${LIMIT_MAX}`)
}

function decodeOrder(text: string | null): (typeof ORDERS)[number] {
  const order = ORDERS.find(each => each === (text ?? 'desc'))
  if (order) return order
  throw wrong('order', `must be one of ${ORDERS.join(', ')}`)
}

function decodeStart(items: readonly Static<typeof Item>[], after: string | null): number {
  if (after === null) return 0
  const index = items.findIndex(({ id }) => id === after)
  if (index !== -1) return index + 1
  throw wrong('after', 'names no item of this list')
}

function wrong(param: string, problem: string): Fault {
  return new Fault('invalid_request', `\`${param}\` ${problem}.`, { param })
}

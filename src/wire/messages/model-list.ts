import { Fault } from '#core/fault.ts'
import type { ModelCard } from '#core/model-card.ts'
import type { ModelListing } from '../format.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000

/** Anthropic's models API, "List models" and "Get a model". */
export const modelListing: ModelListing = Object.freeze({ encodeModel, encodeModels })

function encodeModel({ id, name, createdAt, contextLength, maxOutputTokens }: ModelCard): Record<string, unknown> {
  return {
    id,
    type: 'model',
    display_name: name,
    // The epoch is what the API says of a model whose release date is unknown.
    created_at: new Date(createdAt * 1000).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: contextLength ?? null,
    max_tokens: maxOutputTokens ?? null,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  }
}

/** A page: `limit` models after `after_id`, or before `before_id`. */
function encodeModels(models: readonly ModelCard[], query: URLSearchParams): Record<string, unknown> {
  const limit = limitOf(query)
  const after = placeOf(models, query, 'after_id')
  const before = placeOf(models, query, 'before_id')
  const page =
    before === undefined
      ? models.slice((after ?? -1) + 1).slice(0, limit)
      : models.slice(Math.max(0, before - limit), before)
  const [first] = page
  const last = page.at(-1)
  return {
    data: page.map(encodeModel),
    // More in the direction in which the caller is going.
    has_more: before === undefined ? last !== undefined && last !== models.at(-1) : before > limit,
    first_id: first?.id ?? null,
    last_id: last?.id ?? null,
  }
}

function limitOf(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? LIMIT_DEFAULT)
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new Fault('invalid_request', `\`limit\` must be an integer from 1 to ${LIMIT_MAX}.`, { param: 'limit' })
}

function placeOf(models: readonly ModelCard[], query: URLSearchParams, param: string): number | undefined {
  const id = query.get(param)
  if (id === null) return undefined
  const place = models.findIndex(model => model.id === id)
  if (place !== -1) return place
  throw new Fault('invalid_request', `\`${param}\` must be the id of a model of the list.`, { param })
}

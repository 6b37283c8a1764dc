import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { ACCESS_CHANNELS, type AccessChannel, SCENES, type Scene } from '#core/scene.ts'
import { DAY_MS, parseDay, parseTime } from './time.ts'

const PAGE_DEFAULT = 1
const LIMIT_DEFAULT = 50
const LIMIT_MAX = 100
const FILTER_CHARACTERS_MAX = 100

/** Which requests a report or an export is about, as documentation. */
export const UsageFilterSchema = Type.Object({
  model: Type.Optional(Type.String({ maxLength: FILTER_CHARACTERS_MAX })),
  modelVendor: Type.Optional(Type.String({ maxLength: FILTER_CHARACTERS_MAX })),
  scene: Type.Optional(Type.Enum(SCENES)),
  accessChannel: Type.Optional(Type.Enum(ACCESS_CHANNELS)),
  startDate: Type.Optional(Type.String({ description: 'RFC 3339 with time zone, or YYYY-MM-DD; inclusive' })),
  endDate: Type.Optional(Type.String({ description: 'RFC 3339 with time zone, or YYYY-MM-DD; inclusive' })),
})

/** Query of the usage report (spec, Management, "Usage query parameters"), as documentation. */
export const UsageQuerySchema = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: PAGE_DEFAULT })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
  ...UsageFilterSchema.properties,
})

export interface UsageQuery {
  readonly page: number
  readonly limit: number
  readonly model: string | undefined
  readonly modelVendor: string | undefined
  readonly scene: Scene | undefined
  readonly accessChannel: AccessChannel | undefined
  /** Unix milliseconds, from inclusive to exclusive; infinite where unbounded. */
  readonly from: number
  readonly to: number
}

/** @throws Fault `invalid_request` naming the parameter, or `currency_retired` */
export function decodeUsageQuery(query: URLSearchParams): UsageQuery {
  const currency = query.get('currency')
  if (currency !== null && currency.toUpperCase() !== 'USD') {
    throw new Fault('currency_retired', `Amounts in ${currency.slice(0, 10)} are retired; reports are in USD only.`, {
      param: 'currency',
    })
  }
  const start = query.get('startDate')
  const end = query.get('endDate')
  const from = start === null ? Number.NEGATIVE_INFINITY : decodeDate('startDate', start).firstMs
  const to = end === null ? Number.POSITIVE_INFINITY : decodeDate('endDate', end).lastMs + 1
  if (from >= to) throw wrong('startDate', 'must be earlier than or equal to `endDate`')
  return {
    page: decodeInteger(query, 'page', { fallback: PAGE_DEFAULT, max: Number.MAX_SAFE_INTEGER / LIMIT_MAX }),
    limit: decodeInteger(query, 'limit', { fallback: LIMIT_DEFAULT, max: LIMIT_MAX }),
    model: decodeText(query, 'model'),
    modelVendor: decodeText(query, 'modelVendor'),
    scene: decodeChoice(query, 'scene', SCENES),
    accessChannel: decodeChoice(query, 'accessChannel', ACCESS_CHANNELS),
    from,
    to,
  }
}

function decodeInteger(
  query: URLSearchParams,
  name: string,
  { fallback, max }: { fallback: number; max: number },
): number {
  const text = query.get(name)
  if (text === null) return fallback
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max) {
    throw wrong(name, max > LIMIT_MAX ? 'must be an integer of at least 1' : `must be an integer from 1 to ${max}`)
  }
  return value
}

function decodeText(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (text.length > FILTER_CHARACTERS_MAX) throw wrong(name, `must have at most ${FILTER_CHARACTERS_MAX} characters`)
  return text
}

function decodeChoice<T extends string>(query: URLSearchParams, name: string, choices: readonly T[]): T | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const choice = choices.find(each => each === text)
  if (choice === undefined) throw wrong(name, `must be one of ${choices.join(', ')}`)
  return choice
}

/** A date is a whole day in UTC, a time one millisecond: the first and the last that it covers. */
function decodeDate(name: string, text: string): { firstMs: number; lastMs: number } {
  const dayMs = parseDay(text)
  if (dayMs !== undefined) return { firstMs: dayMs, lastMs: dayMs + DAY_MS - 1 }
  const timeMs = parseTime(text)
  if (timeMs !== undefined) return { firstMs: timeMs, lastMs: timeMs }
  throw wrong(name, 'must be a date (2026-01-31) or an RFC 3339 time with a time zone (2026-01-31T12:00:00Z)')
}

function wrong(param: string, problem: string): Fault {
  return new Fault('invalid_request', `\`${param}\` ${problem}.`, { param })
}

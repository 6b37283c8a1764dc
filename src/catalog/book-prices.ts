import type { ModelInfo, ModelPrice, TieredPrices } from '@pydantic/genai-prices'
import { formatDecimal, parseDecimal, withoutExponent } from '#core/money.ts'
import type { RateName, TokenRate } from './price.ts'
import type { PriceConfig, PriceTierConfig } from './schema.ts'

export type Reading = { readonly price: PriceConfig; readonly notes: readonly string[] } | { readonly problem: string }

/** Our rate for each of the book's keys that we charge by. Token prices are for a million, as in the configuration. */
const TOKEN_KEYS: Readonly<Record<string, TokenRate>> = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cache_read',
  // The shortest lifetime where the provider has several.
  cache_write_mtok: 'cache_write_5m',
  cache_write_1h_mtok: 'cache_write_1h',
  input_audio_mtok: 'audio_input',
  output_audio_mtok: 'audio_output',
  output_reasoning_mtok: 'reasoning',
}

const UNIT_KEYS: Readonly<Record<string, { readonly rate: Exclude<RateName, TokenRate>; readonly per: bigint }>> = {
  requests_kcount: { rate: 'request', per: 1_000n },
  input_mchars: { rate: 'character', per: 1_000_000n },
  audio_hours: { rate: 'second', per: 3_600n },
  input_document_kpages: { rate: 'page', per: 1_000n },
}

/** Parts that usage does not tell from a larger one. They are charged as that, which must not be less. */
const CHARGED_AS: Readonly<Record<string, string>> = {
  input_audio_hours: 'audio_hours',
  input_image_mtok: 'input_mtok',
  input_video_mtok: 'input_mtok',
  output_image_mtok: 'output_mtok',
  output_video_mtok: 'output_mtok',
  output_citation_mtok: 'output_mtok',
  input_annotated_document_kpages: 'input_document_kpages',
}

/** What a provider charges besides, and usage does not tell. It is no reason to do without a price, and is said. */
const NOT_CHARGED: Readonly<Record<string, string>> = {
  web_searches_kcount: 'web searches of the provider are not charged',
  social_searches_kcount: 'social searches of the provider are not charged',
  storage_searches_kcount: 'file searches of the provider are not charged',
  code_executions_kcount: 'code that the provider runs is not charged',
  cache_audio_read_mtok: 'cached sound is charged as cached text',
  cache_image_read_mtok: 'cached images are charged as cached text',
}

/** What the book says a model costs, as a configuration would; or why that cannot be said. */
export function readPrices(model: ModelInfo, prices: ModelPrice): Reading {
  const problem = problemOf(model, prices)
  if (problem !== undefined) return { problem }
  return {
    price: { ...tokenPrices(prices), ...unitPrices(prices), per: '1M' },
    notes: Object.keys(prices).flatMap(key => NOT_CHARGED[key] ?? []),
  }
}

function problemOf(
  { description = '', price_comments: comments = '' }: ModelInfo,
  prices: ModelPrice,
): string | undefined {
  // Of some models the book holds the first tier alone, and says so in words.
  if (/prices shown for/i.test(`${description} ${comments}`)) return 'it has tiers that the book does not hold'
  const keys = Object.keys(prices)
  const unknown = keys.find(key => !(key in TOKEN_KEYS || key in UNIT_KEYS || key in CHARGED_AS || key in NOT_CHARGED))
  if (unknown) return `it is charged by ${unknown}, which Tollgate does not count`
  const uncounted = keys.find(key => key in CHARGED_AS && isDearer(prices[key], prices[CHARGED_AS[key] as string]))
  if (uncounted) return `it has a price of its own for ${uncounted}, which Tollgate does not count`
  const inexact = keys.find(key => key in UNIT_KEYS && exactUnitPrice(key, prices[key]) === undefined)
  if (inexact) return `its ${inexact} is no exact price for one`
  // Free of charge may mean a trial: only the operator can know whether it is theirs.
  if (keys.every(key => highestOf(prices[key]) === 0)) return 'it is free there; state a price of "0" if that is meant'
  return undefined
}

type BookPrice = ModelPrice[string]

function isDearer(part: BookPrice, whole: BookPrice): boolean {
  if (isTiered(part) || isTiered(whole)) return part !== whole
  return (part ?? 0) > (whole ?? 0)
}

function highestOf(price: BookPrice): number {
  return isTiered(price) ? Math.max(price.base, ...price.tiers.map(tier => tier.price)) : (price ?? 0)
}

/** The book's tiers begin above `start` and hold for the whole request, as ours do. */
function tokenPrices(prices: ModelPrice): PriceConfig {
  const starts = Object.keys(TOKEN_KEYS).flatMap(key => {
    const price = prices[key]
    return isTiered(price) ? price.tiers.map(({ start }) => start) : []
  })
  const tiers: PriceTierConfig[] = [...new Set(starts)]
    .toSorted((a, b) => a - b)
    .map(above => ({ above, ...tokenPricesAt(prices, above + 1) }))
  return { ...tokenPricesAt(prices, 0), ...(tiers.length > 0 && { tiers }) }
}

function tokenPricesAt(prices: ModelPrice, inputTokens: number): Partial<Record<TokenRate, string>> {
  const rates: Partial<Record<TokenRate, string>> = {}
  for (const [key, name] of Object.entries(TOKEN_KEYS)) {
    const price = prices[key]
    if (price !== undefined) rates[name] = decimalOf(isTiered(price) ? priceAt(price, inputTokens) : price)
  }
  return rates
}

function priceAt({ base, tiers }: TieredPrices, inputTokens: number): number {
  return tiers.findLast(({ start }) => inputTokens > start)?.price ?? base
}

function unitPrices(prices: ModelPrice): PriceConfig {
  const rates = Object.entries(UNIT_KEYS).flatMap(([key, { rate }]) => {
    const price = exactUnitPrice(key, prices[key])
    return price === undefined ? [] : [[rate, price]]
  })
  return Object.fromEntries(rates)
}

const PLACES = 18

/** A price for one of what the book prices by the thousand or the hour; `undefined` where that has no end. */
function exactUnitPrice(key: string, price: BookPrice): string | undefined {
  const per = UNIT_KEYS[key]?.per
  if (per === undefined || typeof price !== 'number') return undefined
  const scaled = parseDecimal(decimalOf(price), PLACES)
  return scaled % per === 0n ? formatDecimal(scaled / per, PLACES) : undefined
}

/** The book's numbers are decimals that JavaScript reads as floats; the shortest text of one is the decimal again. */
function decimalOf(price: number): string {
  return withoutExponent(String(price))
}

function isTiered(price: BookPrice): price is TieredPrices {
  return typeof price === 'object'
}

import { createHash } from 'node:crypto'
import { formatDecimal, parseDecimal } from '#core/money.ts'
import { UNITS } from '#core/usage.ts'
import type { PriceConfig, PriceTierConfig } from './schema.ts'

/** Kinds of tokens that may have a price of their own. */
export const TOKEN_RATES = [
  'input',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'audio_input',
  'output',
  'reasoning',
  'audio_output',
] as const

/** What is charged by the piece, whatever the request's length: the request itself, and what usage counts in units. */
export const UNIT_RATES = ['request', ...UNITS] as const

export const RATE_NAMES = [...TOKEN_RATES, ...UNIT_RATES] as const

export type TokenRate = (typeof TOKEN_RATES)[number]
export type RateName = (typeof RATE_NAMES)[number]

export type TokenRates = Readonly<Partial<Record<TokenRate, bigint>>>
export type Rates = Readonly<Partial<Record<RateName, bigint>>>

/**
 * A price in integers. Rates are of 10⁻²⁰ USD for one token, request or unit. A price may have eighteen places, which
 * makes one of twelve a million tokens exact, so that a charge is rounded once, at its end; the two more are for rates
 * that follow from another by a percentage (metering/charge.ts).
 */
export interface Price {
  /** Names this exact set of rates, and the book where they come from one; it stands on every charge made with it. */
  readonly version: string
  readonly rates: Rates
  /** What tokens cost in longer requests, the shortest first; empty where length does not matter. */
  readonly tiers: readonly PriceTier[]
  /** Where the rates were found if not in the configuration. */
  readonly book: BookReference | undefined
  /** Charged in place of what the rates come to, where a customer's own provider key serves. */
  readonly fee?: Fee
}

/** What the platform takes of a request that a customer's own provider key serves. */
export interface Fee {
  /** Of what the platform's price would come to, in millionths. */
  readonly share: bigint
  /** For each request beside it, in the parts of a dollar that rates have. */
  readonly perRequest: bigint
}

/** The whole of a price, as a {@link Fee.share}. */
export const WHOLE_SHARE = 1_000_000n

/** The whole of a request with more input than `above`, cached input included, is charged at these token rates. */
export interface PriceTier {
  readonly above: number
  readonly rates: TokenRates
}

export interface BookReference {
  /** Package and version: `@pydantic/genai-prices 0.1.8`. */
  readonly edition: string
  /** Provider and model there: `openai/gpt-5-mini`. */
  readonly entry: string
}

export const RATE_PLACES = 20

const STATED_PLACES = 18
const DERIVED_STEPS = 10n ** BigInt(RATE_PLACES - STATED_PLACES)

/** Tokens that a configured token price is for, as a power of ten. */
const PER_EXPONENT = { '1M': 6, '1K': 3, 1: 0 } as const

/** @throws RangeError with a sentence when a number has too many digits to be exact */
export function parsePrice(config: PriceConfig, book?: BookReference): Price {
  const exponent = PER_EXPONENT[config.per ?? '1M']
  const rates = {
    ...parseRates(config, TOKEN_RATES, exponent),
    ...parseRates(config, UNIT_RATES, 0),
  }
  const tiers = (config.tiers ?? []).map(tier => ({
    above: tier.above,
    rates: parseRates(tier, TOKEN_RATES, exponent),
  }))
  return withVersion({ rates, tiers, book })
}

export function withVersion(price: Omit<Price, 'version'>): Price {
  const digest = createHash('sha256').update(definitionOf(price)).digest('hex')
  return { version: `pv_${digest.slice(0, 16)}`, ...price }
}

function parseRates<Name extends RateName>(
  config: PriceConfig | PriceTierConfig,
  names: readonly Name[],
  exponent: number,
): Partial<Record<Name, bigint>> {
  const rates: Partial<Record<Name, bigint>> = {}
  for (const name of names) {
    const text = (config as PriceConfig)[name]
    // A price per 10^n tokens has n digits fewer to spend after the point.
    if (text !== undefined) rates[name] = parseStated(text, exponent)
  }
  return rates
}

/**
 * An amount as a configuration states it, in the parts of a dollar that rates have.
 *
 * @param exponent of the power of ten that it is for
 * @throws RangeError with a sentence when it has too many digits to be exact
 */
export function parseStated(text: string, exponent = 0): bigint {
  return parseDecimal(text, STATED_PLACES - exponent) * DERIVED_STEPS
}

/** The token rates for a request with so much input. */
export function ratesFor({ rates, tiers }: Price, inputTokens: number): TokenRates {
  return tiers.findLast(({ above }) => inputTokens > above)?.rates ?? rates
}

/** Whether nothing is ever charged at it. */
export function isFree({ rates, tiers, fee }: Price): boolean {
  const all = [rates, ...tiers.map(tier => tier.rates)].flatMap(each => Object.values(each))
  return (fee?.share === 0n || all.every(rate => rate === 0n)) && (fee?.perRequest ?? 0n) === 0n
}

/** A price in words that can be written down: US dollars for one token, request or unit, as decimals. */
export interface PriceDefinition {
  readonly book?: BookReference
  readonly rates: Readonly<Partial<Record<RateName, string>>>
  readonly tiers?: readonly { readonly above: number; readonly rates: Readonly<Partial<Record<TokenRate, string>>> }[]
  /** `share` of what the rates come to, 1 for all of it, and `per_request` beside it. */
  readonly fee?: { readonly share: string; readonly per_request: string }
}

/** The price's definition, of which its version is the hash: the first 16 hex digits of the SHA-256 of this text. */
export function definitionOf(price: Omit<Price, 'version'>): string {
  const { book, rates, tiers, fee } = price
  const definition: PriceDefinition = {
    ...(book && { book: { edition: book.edition, entry: book.entry } }),
    rates: inWords(rates, RATE_NAMES),
    ...(tiers.length > 0 && {
      tiers: tiers.map(tier => ({ above: tier.above, rates: inWords(tier.rates, TOKEN_RATES) })),
    }),
    ...(fee && {
      fee: { share: formatDecimal(fee.share, SHARE_PLACES), per_request: formatDecimal(fee.perRequest, RATE_PLACES) },
    }),
  }
  return JSON.stringify(definition)
}

function inWords<Name extends RateName>(
  rates: Partial<Record<Name, bigint>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const words: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const rate = rates[name]
    if (rate !== undefined) words[name] = formatDecimal(rate, RATE_PLACES)
  }
  return words
}

/** Of {@link WHOLE_SHARE}. */
const SHARE_PLACES = 6

const MILLION_PLACES = 6

/** A price as the configuration has it: token prices for a million, the others for one. */
export function readablePrice({ rates, tiers }: Pick<Price, 'rates' | 'tiers'>): ReadablePrice {
  const readable = readableRates(rates)
  if (tiers.length === 0) return readable
  return { ...readable, tiers: tiers.map(tier => ({ above: tier.above, ...readableRates(tier.rates) })) }
}

export type ReadableRates = Readonly<Partial<Record<RateName, string>>>

export type ReadablePrice = ReadableRates & {
  readonly tiers?: readonly ({ readonly above: number } & ReadableRates)[]
}

/** Rates as people compare them: token prices for a million, the others for one. */
export function readableRates(rates: Rates): ReadableRates {
  const readable: Partial<Record<RateName, string>> = {}
  for (const name of RATE_NAMES) {
    const rate = rates[name]
    if (rate === undefined) continue
    readable[name] = formatDecimal(rate, isTokenRate(name) ? RATE_PLACES - MILLION_PLACES : RATE_PLACES)
  }
  return readable
}

function isTokenRate(name: RateName): name is TokenRate {
  return (TOKEN_RATES as readonly string[]).includes(name)
}

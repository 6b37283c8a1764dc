import type { ModelLimits } from '#core/work.ts'
import {
  type Price,
  parsePrice,
  RATE_NAMES,
  type Rates,
  type ReadableRates,
  ratesFor,
  readableRates,
  UNIT_RATES,
} from './price.ts'
import { type BookEntry, isSilent } from './price-book.ts'
import type { PriceSource } from './pricing.ts'

/** An offer with a price, and what its model is said to take. */
export interface PricedOffer {
  readonly price: Price
  readonly address: string | undefined
  readonly upstreamModel: string
  readonly limits: ModelLimits
}

/** What a look into the price book brings up. */
export interface Remark {
  /**
   * `book`: the price is the book's. `note`: what that leaves out. `differs`: the book says otherwise. `unknown`: the book
   * ought to know the model, and does not.
   */
  readonly kind: 'book' | 'note' | 'differs' | 'unknown'
  readonly text: string
}

/** Compares what is declared with the book; empty where they agree, and where the book knows nothing of the host. */
export function reviewOffer(offer: PricedOffer, { book, at }: PriceSource): Remark[] {
  const { price, address, upstreamModel } = offer
  const answer = price.book ? book.entry(price.book.entry, at) : address && book.find(address, upstreamModel, at)
  if (!answer) return []
  if (isSilent(answer)) {
    const { knowsHost, reason, suggestions } = answer
    const meant = suggestions.length > 0 ? ` (is it ${suggestions.join(' or ')}?)` : ''
    return knowsHost ? [{ kind: 'unknown', text: `the price book ${reason}${meant}` }] : []
  }
  const { entry, edition } = answer.reference
  const remarks = (kind: Remark['kind'], texts: readonly string[]) => texts.map(text => ({ kind, text }))
  return [
    ...remarks('book', price.book ? [`price of ${entry} in ${edition}`] : []),
    ...remarks('note', price.book ? answer.notes : []),
    ...remarks('differs', differences(offer, answer)),
  ]
}

function differences({ price, limits }: PricedOffer, entry: BookEntry): string[] {
  const theirs = parsePrice(entry.price, entry.reference)
  const bounds = [...new Set([...price.tiers, ...theirs.tiers].map(({ above }) => above))].toSorted((a, b) => a - b)
  return [
    ...rateDifferences('', ratesWith(price, 0), ratesWith(theirs, 0)),
    ...bounds.flatMap(above =>
      rateDifferences(`above ${above} tokens `, ratesFor(price, above + 1), ratesFor(theirs, above + 1)),
    ),
    ...difference('context_length', limits.contextLength, entry.contextLength),
  ]
}

/** With the units, which have no tiers. */
function ratesWith(price: Price, inputTokens: number): Rates {
  const units = Object.fromEntries(UNIT_RATES.map(name => [name, price.rates[name]]))
  return { ...ratesFor(price, inputTokens), ...units }
}

function rateDifferences(where: string, ours: Rates, theirs: Rates): string[] {
  const [own, book]: ReadableRates[] = [readableRates(ours), readableRates(theirs)]
  return RATE_NAMES.flatMap(name => difference(`${where}${name}`, own?.[name], book?.[name]))
}

function difference(what: string, ours: string | number | undefined, theirs: string | number | undefined): string[] {
  if (ours === theirs) return []
  return [`${what} is ${ours ?? 'not stated'}, in the book ${theirs ?? 'not priced'}`]
}

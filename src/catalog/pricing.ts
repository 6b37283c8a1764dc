import type { PriceOrigin } from './catalog.ts'
import { type BookReference, type Price, parsePrice } from './price.ts'
import { type BookEntry, type BookSilence, isSilent, type PriceBook } from './price-book.ts'
import { brokenRules } from './price-rules.ts'
import type { ModelConfig, PriceConfig } from './schema.ts'

/** Where prices are found that the configuration does not state, and when they have to be in force. */
export interface PriceSource {
  readonly book: PriceBook
  readonly at: Date
}

/** One way to reach a model, before anybody has said what it costs. */
export interface UnpricedOffer {
  readonly model: ModelConfig
  readonly channelId: string
  /** Where the channel's host is; `undefined` where nobody says. */
  readonly address: string | undefined
  readonly upstreamModel: string
  /** The offer's own price. */
  readonly own: PriceConfig | undefined
}

export type Priced = { readonly price: Price; readonly origin: PriceOrigin } | { readonly problems: readonly string[] }

/** The offer's own price, or the model's, or the book's. A model that nobody priced must not be served for nothing. */
export function priceOffer(offer: UnpricedOffer, { book, at }: PriceSource): Priced {
  const { model, own, address, upstreamModel } = offer
  const stated = own ?? model.price
  if (!stated) return fromBook(offer, address === undefined ? NO_ADDRESS : book.find(address, upstreamModel, at))
  const { book: entry, ...rates } = stated
  if (entry === undefined) return parse(model, rates, own ? 'offer' : 'model')
  const besides = Object.keys(rates)
  if (besides.length === 0) return fromBook(offer, book.entry(entry, at))
  return {
    problems: [`the price of model "${model.id}" is the book's, so it cannot also have ${besides.join(' and ')}`],
  }
}

const NO_ADDRESS: BookSilence = {
  reason: 'finds prices by the address of a host, which is not known',
  knowsHost: false,
  suggestions: [],
}

function fromBook({ model, channelId }: UnpricedOffer, answer: BookEntry | BookSilence): Priced {
  if (!isSilent(answer)) return parse(model, answer.price, 'book', answer.reference)
  const { reason, suggestions } = answer
  const meant = suggestions.length > 0 ? ` (is it ${suggestions.map(each => `"${each}"`).join(' or ')}?)` : ''
  const problem = `model "${model.id}" has no price at channel "${channelId}": none is stated, and the price book ${reason}`
  return { problems: [`${problem}${meant}; add e.g. price: { input: "0.25", output: "2.00", per: 1M }`] }
}

function parse(model: ModelConfig, stated: PriceConfig, origin: PriceOrigin, reference?: BookReference): Priced {
  const problems = brokenRules(model, stated)
  if (problems.length > 0) return { problems }
  try {
    return { price: parsePrice(stated, reference), origin }
  } catch (error) {
    return { problems: [`the price of model "${model.id}" cannot be exact: ${(error as Error).message}`] }
  }
}

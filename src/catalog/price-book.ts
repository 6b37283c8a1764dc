import type { ConditionalPrice, ModelInfo, ModelPrice, Provider } from '@pydantic/genai-prices'
import { type BookPackage, loadBook } from './book-package.ts'
import { readPrices } from './book-prices.ts'
import { namesModel } from './model-name.ts'
import type { BookReference } from './price.ts'
import type { PriceConfig } from './schema.ts'
import { closestIds } from './suggest.ts'

/** What the book says of a model at an address. */
export interface BookEntry {
  readonly reference: BookReference
  readonly price: PriceConfig
  readonly contextLength: number | undefined
  /** What the provider charges for besides, and Tollgate does not: a sentence each. */
  readonly notes: readonly string[]
}

export interface BookSilence {
  /** Why the book gives no price: a clause after "the price book". */
  readonly reason: string
  /** `false`: the book says nothing of any model there. */
  readonly knowsHost: boolean
  /** Ids of the book that were probably meant. */
  readonly suggestions: readonly string[]
}

/**
 * The price book that comes with Tollgate (`@pydantic/genai-prices`), read where the configuration states no price. It
 * is loaded when it is first asked, and nothing is ever fetched.
 *
 * A price is found for a model that the book names, at an address that the book knows, and only where nothing that its
 * provider counts could cost more than Tollgate would charge; whatever else it knows is no reason to guess.
 */
export interface PriceBook {
  /** By where the upstream is and what it calls the model. */
  find(address: string, upstreamModel: string, at: Date): BookEntry | BookSilence
  /** By the book's own names: `openai/gpt-5-mini`. */
  entry(name: string, at: Date): BookEntry | BookSilence
}

export function isSilent(answer: BookEntry | BookSilence): answer is BookSilence {
  return 'reason' in answer
}

export const BUNDLED_BOOK: PriceBook = Object.freeze({
  find(address: string, upstreamModel: string, at: Date): BookEntry | BookSilence {
    const book = loadBook()
    const provider = book.findProvider({ providerApiUrl: address })
    if (!provider || !isAt(provider, address))
      return { ...silence(`does not know the host of ${address}`), knowsHost: false }
    const found = book.calcPrice({}, upstreamModel, { providerId: provider.id, timestamp: at })
    if (found && namesModel(found.model.match, found.model.id, upstreamModel)) {
      return toEntry(book, provider, found.model, found.model_price)
    }
    return unknownModel(provider, upstreamModel)
  },

  entry(name: string, at: Date): BookEntry | BookSilence {
    const book = loadBook()
    const [providerId = '', ...rest] = name.split('/')
    const id = rest.join('/')
    const provider = book.findProvider({ providerId })
    // The book itself takes what contains a provider's name for the provider.
    if (provider?.id !== providerId) return silence(`has no provider "${providerId}"`)
    const model = provider.models.find(each => each.id === id)
    return model ? toEntry(book, provider, model, pricesAt(model, at)) : unknownModel(provider, id)
  },
})

/** The book's patterns say how an address begins; it must not go on as another host. */
function isAt({ api_pattern: pattern }: Provider, address: string): boolean {
  const [matched = ''] = new RegExp(`^(?:${pattern})`).exec(address) ?? []
  return /[./]$/.test(matched) || /^([/:]|$)/.test(address.slice(matched.length))
}

function silence(reason: string, suggestions: readonly string[] = []): BookSilence {
  return { reason, knowsHost: true, suggestions }
}

function unknownModel({ id, models }: Provider, wanted: string): BookSilence {
  return silence(
    `has no "${wanted}" of ${id}`,
    closestIds(
      wanted,
      models.map(model => model.id),
    ),
  )
}

/** The last condition that holds counts (the book's own rule); those by the time of day are refused before. */
function pricesAt({ prices }: ModelInfo, at: Date): ModelPrice {
  if (!Array.isArray(prices)) return prices
  const inForce = prices.findLast(({ constraint }) => !isStartDate(constraint) || at >= new Date(constraint.start_date))
  return (inForce ?? (prices[0] as ConditionalPrice)).prices
}

type Constraint = ConditionalPrice['constraint']

function isStartDate(constraint: Constraint): constraint is Extract<Constraint, { type: 'start_date' }> {
  return constraint?.type === 'start_date'
}

function toEntry(book: BookPackage, provider: Provider, model: ModelInfo, prices: ModelPrice): BookEntry | BookSilence {
  const entry = `${provider.id}/${model.id}`
  const reading = changesDaily(model)
    ? { problem: 'its price changes with the time of day' }
    : readPrices(model, prices)
  if ('problem' in reading) return silence(`cannot price "${entry}": ${reading.problem}`)
  const reference = { edition: book.edition, entry }
  return { ...reading, reference, contextLength: model.context_window }
}

function changesDaily({ prices }: ModelInfo): boolean {
  return Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === 'time_of_date')
}

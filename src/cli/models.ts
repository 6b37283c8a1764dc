import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { readEnvironment } from '#app/config/environment.ts'
import type { ConfigProblem, InspectedConfig } from '#app/config/load.ts'
import { inspectSources } from '#app/settings.ts'
import { addressOf } from '#catalog/build.ts'
import type { Model, Offer } from '#catalog/catalog.ts'
import { type ReadableRates, readablePrice } from '#catalog/price.ts'
import { BUNDLED_BOOK } from '#catalog/price-book.ts'
import { type Remark, reviewOffer } from '#catalog/review.ts'
import { findPriceVersion } from '#catalog/store.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

interface OutputOptions {
  readonly json?: boolean
}

const CHECK_HELP = `
Exit code: 0 when every model has a price, 1 when one has none or the configuration has another mistake. What differs
from the price book is told and no failure.
`

/** `tollgate models …`: what is declared and what it costs, read from the configuration; no server has to run. */
export function addModels(program: Command): void {
  const models = program.command('models').description('models and their prices')
  models
    .command('list')
    .description('list every model and offer with its price and where that comes from')
    .option('--json', 'as JSON')
    .action(list)
  models
    .command('check')
    .description('look for models without a price, and compare with the price book')
    .option('--json', 'as JSON')
    .addHelpText('after', CHECK_HELP)
    .action(check)
  models
    .command('price')
    .description('show the rates behind a price version, as usage rows name it')
    .argument('<version>', 'pv_…')
    .option('--json', 'as JSON')
    .action(showVersion)
}

async function list({ json }: OutputOptions): Promise<void> {
  const { config, problems } = await inspect()
  const offers = offersOf(config.models)
  if (json) printJson(offers.map(toJson))
  else printTable(['MODEL', 'CHANNEL', 'UPSTREAM MODEL', 'PRICE FROM', 'USD', 'VERSION'], offers.flatMap(toRows))
  if (problems.length === 0) return
  process.stderr.write(`${problems.map(({ place, message }) => `${place}: ${message}\n`).join('')}`)
  process.exitCode = 1
}

async function check({ json }: OutputOptions): Promise<void> {
  const { config, problems } = await inspect()
  const source = { book: BUNDLED_BOOK, at: new Date() }
  const reviewed = offersOf(config.models).map(({ model, offer }) => {
    const address = addressOf(offer.channel, PROVIDERS)
    return { model, offer, remarks: reviewOffer({ ...offer, address, limits: model.limits }, source) }
  })
  if (json) {
    printJson({ offers: reviewed.map(each => ({ ...toJson(each), remarks: each.remarks })), problems })
  } else {
    printTable(['STATE', 'MODEL', 'CHANNEL', 'REMARK'], [...reviewed.flatMap(toFindings), ...problems.map(toFailure)])
  }
  if (problems.length > 0) process.exitCode = 1
}

function showVersion(version: string, { json }: OutputOptions): Promise<void> {
  return withDatabase(async ({ database }) => {
    const found = await findPriceVersion(database, version)
    if (!found) throw new ConfigError(`No configuration that was loaded had a price "${version}".`)
    const { definition, recordedAt } = found
    if (json) return printJson({ version, recorded_at: recordedAt.toISOString(), ...definition })
    const { book, rates, tiers = [], fee } = definition
    const since = `${version}, in force since ${recordedAt.toISOString()}`
    process.stdout.write(`${since}${book ? `, from ${book.entry} in ${book.edition}` : ''}\n`)
    const bounds = [{ above: 0, rates }, ...tiers]
    const rows = bounds.flatMap(tier =>
      Object.entries(tier.rates).map(([name, usd]) => [name, usd, String(tier.above)]),
    )
    printTable(['FOR ONE', 'USD', 'INPUT TOKENS ABOVE'], rows)
    if (fee) process.stdout.write(`of which ${fee.share} is charged, and ${fee.per_request} USD a request\n`)
  })
}

async function inspect(): Promise<InspectedConfig> {
  // Prices need no sandbox that runs; its address stands for itself.
  return inspectSources({ ...readEnvironment(), sandboxUrl: 'http://127.0.0.1' })
}

interface DeclaredOffer {
  readonly model: Model
  readonly offer: Offer
}

function offersOf(models: readonly Model[]): DeclaredOffer[] {
  return models.flatMap(model => model.offers.map(offer => ({ model, offer })))
}

function toJson({ model, offer }: DeclaredOffer): Record<string, unknown> {
  const { channel, upstreamModel, price, priceOrigin } = offer
  return {
    model: model.id,
    scene: model.scene,
    channel: channel.id,
    upstream_model: upstreamModel,
    price_from: priceOrigin,
    ...(price.book && { book: price.book }),
    price_version: price.version,
    price: { per_tokens: 1_000_000, ...readablePrice(price) },
  }
}

/** A row, and one more for each tier. */
function toRows({ model, offer }: DeclaredOffer): string[][] {
  const { channel, upstreamModel, price, priceOrigin } = offer
  const { tiers = [], ...rates } = readablePrice(price)
  const from = price.book ? `book: ${price.book.entry}` : priceOrigin
  return [
    [model.id, channel.id, upstreamModel, from, inWords(rates), price.version],
    ...tiers.map(({ above, ...each }) => ['', '', '', `above ${above} tokens`, inWords(each), '']),
  ]
}

function inWords(rates: ReadableRates): string {
  return Object.entries(rates)
    .map(([name, usd]) => `${name} ${usd}`)
    .join(', ')
}

function toFindings({ model, offer, remarks }: DeclaredOffer & { readonly remarks: readonly Remark[] }): string[][] {
  if (remarks.length === 0) return [['ok', model.id, offer.channel.id, `price of the ${offer.priceOrigin}`]]
  return remarks.map(({ kind, text }) => [kind, model.id, offer.channel.id, text])
}

function toFailure({ place, message, offer }: ConfigProblem): string[] {
  return ['fail', offer?.model ?? '', offer?.channel ?? '', `${message} (${place})`]
}

function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

import type { Catalog, Channel, Model, Offer } from '#catalog/catalog.ts'
import type { Picodollars } from '#core/money.ts'
import { chargeAtMost } from '#metering/upper-bound.ts'
import { type Question, questionsFor } from './question.ts'

/** One question to one model through one channel. */
export interface Trial {
  readonly channel: Channel
  readonly model: Model
  readonly offer: Offer
  readonly question: Question
}

export interface TrialOptions {
  /** This channel only. */
  readonly channelId?: string | undefined
  /** This model only. */
  readonly modelId?: string | undefined
  /** Every model, and not one of each kind of work a channel. */
  readonly isExhaustive?: boolean | undefined
}

/** What is to be asked, channel by channel, in the order in which they are declared. */
export function planTrials({ channels, models }: Catalog, options: TrialOptions): Trial[] {
  const { channelId, modelId, isExhaustive = false } = options
  return [...channels.values()]
    .filter(({ id }) => channelId === undefined || id === channelId)
    .flatMap(channel => {
      const reached = [...models.values()]
        .filter(({ id }) => modelId === undefined || id === modelId)
        .flatMap(model => model.offers.filter(offer => offer.channel === channel).map(offer => ({ model, offer })))
      return (isExhaustive ? reached : onePerScene(reached)).flatMap(({ model, offer }) =>
        questionsFor(model).map(question => ({ channel, model, offer, question })),
      )
    })
}

function onePerScene<T extends { readonly model: Model }>(reached: readonly T[]): T[] {
  return [...Map.groupBy(reached, ({ model }) => model.scene).values()].map(([first]) => first as T)
}

/** What they cost at most, by the declared prices. */
export function costAtMost(trials: readonly Trial[]): Picodollars {
  return trials.reduce((sum, { question, model, offer }) => {
    return sum + chargeAtMost(question.work.bound(model.limits), offer.price)
  }, 0n)
}

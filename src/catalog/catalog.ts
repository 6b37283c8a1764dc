import type { DeliveryTier } from '#core/delivery.ts'
import type { Scene } from '#core/scene.ts'
import type { ModelLimits, Quirks } from '#core/work.ts'
import type { Price } from './price.ts'

/** An account at a provider, by which models are reached: the operator's, or one that a customer brought. */
export interface Channel {
  /** Public (`_routing.channel.id`). */
  readonly id: string
  readonly name: string
  /** Name of an adapter in `src/providers`. */
  readonly provider: string
  /** `undefined`: the provider's own address. */
  readonly baseUrl: string | undefined
  /** Any of them serves; a host that asks for no key has one without. */
  readonly credentials: readonly [Credential, ...Credential[]]
  /** Sent with every request, by lower-case name; the gateway's own come first. */
  readonly headers: Readonly<Record<string, string>>
  /** Wire formats that its host speaks; `undefined`: what hosts of this provider usually speak. */
  readonly formats: readonly string[] | undefined
  readonly tier: DeliveryTier
  readonly timeouts: { readonly connectMs: number; readonly firstByteMs: number; readonly idleMs: number }
  readonly quirks: Quirks
  /** What it says in its provider's own words, which the provider's schema has checked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** A customer's own: only their requests go there, and through the outbound guard. */
  readonly isPrivate?: true
}

/** A key of a channel's account. */
export interface Credential {
  /** What operators know it by: its place in the list, from 1. */
  readonly id: string
  readonly key: string | undefined
  /** Its share among the channel's keys. */
  readonly weight: number
  readonly requestsPerMinute: number | undefined
  /** Requests under way at a time. */
  readonly concurrency: number | undefined
}

/** One way to reach a model, with what that way costs. */
export interface Offer {
  readonly channel: Channel
  readonly upstreamModel: string
  readonly price: Price
  readonly priceOrigin: PriceOrigin
  /** Its share among the offers that have one; `undefined`: tried after those, in the order of the list. */
  readonly weight: number | undefined
  /** What it can do; `undefined`: nobody said. */
  readonly capabilities: ReadonlySet<string> | undefined
  readonly contextLength: number | undefined
}

/** Who said what an offer costs: the offer, its model, or the price book where neither did. */
export type PriceOrigin = 'offer' | 'model' | 'book'

export interface Model {
  readonly id: string
  /** The model as reports group it, whichever public id was asked for. */
  readonly logicalModel: string
  readonly vendor: string | undefined
  readonly name: string | undefined
  readonly description: string | undefined
  /** Unix seconds; 0 when the configuration does not say. */
  readonly createdAt: number
  readonly scene: Scene
  readonly recommendedFor: readonly string[]
  readonly capabilities: readonly string[]
  readonly tags: readonly string[]
  readonly limits: ModelLimits
  readonly offers: readonly Offer[]
}

/** An immutable snapshot of what is on sale. */
export interface Catalog {
  readonly channels: ReadonlyMap<string, Channel>
  /** Public models only: what is hidden or deferred is not in the snapshot that requests see. */
  readonly models: ReadonlyMap<string, Model>
}

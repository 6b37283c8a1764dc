/** What decides among offers of the same tier. */
export const STRATEGIES = ['weighted', 'cheapest', 'fastest'] as const

export type Strategy = (typeof STRATEGIES)[number]

/** The operator's will, for all models. */
export interface RoutingPolicy {
  readonly strategy: Strategy
  /** Conversations stay with the channel that has their prompt cached. */
  readonly isSticky: boolean
  /** What fails is left alone for a while. */
  readonly isEjecting: boolean
  /** Another channel is asked when one failed that may have done the work, and may bill for it. */
  readonly retriesUncertain: boolean
  /** How many of a model's requests may be tried again. */
  readonly retryShare: number
}

export const ROUTING_DEFAULT: RoutingPolicy = Object.freeze({
  strategy: 'weighted',
  isSticky: true,
  isEjecting: true,
  retriesUncertain: false,
  retryShare: 0.2,
})

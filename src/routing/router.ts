import type { Model, Offer } from '#catalog/catalog.ts'
import type { RequestTraits } from '#core/traits.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import { type Choice, choose } from './choose.ts'
import type { Health } from './health.ts'
import type { RoutingPolicy } from './policy.ts'
import { preferenceOf } from './preference.ts'
import { RetryBudget } from './retry-budget.ts'
import { drawFor, isSticky } from './sticky.ts'

export interface RouterDeps {
  readonly health: Health
  readonly policy: () => RoutingPolicy
  /** From 0 up to 1, as `Math.random`. */
  random(): number
}

/** What a choice is about. */
export interface RoutedRequest {
  readonly model: Model
  /** Whose request it is: conversations of different tenants are different ones. */
  readonly scope: string
  readonly traits: RequestTraits | undefined
  /** What it would come to there. */
  readonly costOf: (offer: Offer) => number
}

interface Route {
  readonly candidates: readonly Candidate[]
  readonly retries: RetryBudget
  readonly isDiscerning: boolean
}

/** Chooses for requests of all models, by what the operator wants and what is known of the channels. */
export class Router {
  readonly health: Health
  readonly #deps: RouterDeps
  /** Worked out once a model; models are replaced when the configuration is read anew. */
  readonly #routes = new WeakMap<Model, Route>()

  constructor(deps: RouterDeps) {
    this.#deps = deps
    this.health = deps.health
  }

  get policy(): RoutingPolicy {
    return this.#deps.policy()
  }

  candidatesOf(model: Model): readonly Candidate[] {
    return this.#routeOf(model).candidates
  }

  retriesOf(model: Model): RetryBudget {
    return this.#routeOf(model).retries
  }

  /** Whether it matters what a request asks for: somebody said what the model can do, or there is a choice. */
  isDiscerning(model: Model): boolean {
    return this.#routeOf(model).isDiscerning
  }

  /** @param candidates those that could serve it */
  choose(candidates: readonly Candidate[], { model, scope, traits, costOf }: RoutedRequest): Choice {
    const { health, policy } = this
    const nowMs = health.nowMs()
    const isKept = candidates.length > 1 && policy.isSticky && traits !== undefined && isSticky(model, traits)
    return choose({
      candidates,
      health,
      nowMs,
      preference: preferenceOf(policy.strategy, {
        health,
        nowMs,
        costOf: ({ offer }) => costOf(offer),
        isSticky: isKept,
      }),
      draw: isKept ? drawFor(scope, model, traits) : this.#deps.random,
    })
  }

  /** When the first of them can be asked, as far as that is known; `undefined`: now. */
  readyAtMs(candidates: readonly Candidate[]): number | undefined {
    const nowMs = this.health.nowMs()
    const soonestMs = Math.min(...candidates.map(candidate => this.health.readyAtMs(candidate, nowMs)))
    return soonestMs > nowMs ? soonestMs : undefined
  }

  #routeOf(model: Model): Route {
    const known = this.#routes.get(model)
    if (known) return known
    const candidates = candidatesOf(model.offers)
    const isDiscerning = candidates.length > 1 || candidates.some(({ offer }) => offer.capabilities !== undefined)
    const route: Route = { candidates, retries: new RetryBudget(), isDiscerning }
    this.#routes.set(model, route)
    return route
  }
}

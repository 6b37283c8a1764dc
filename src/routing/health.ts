import { LRUCache } from 'lru-cache'
import type { Credential, Offer } from '#catalog/catalog.ts'
import type { BreakerState } from './breaker.ts'
import type { Candidate } from './candidate.ts'
import { CredentialHealth } from './credential-health.ts'
import { PairHealth } from './pair-health.ts'
import { EFFECTS, type Symptom } from './symptom.ts'

/** Told of what operators want to know. */
export interface RoutingObserver {
  attempted(candidate: Candidate, outcome: AttemptOutcome): void
  credentialDisabled(candidate: Candidate, symptom: Symptom): void
  credentialRestored(candidate: Candidate): void
}

/** `dropped`: it ended without a verdict, because the client left or the gateway stopped. */
export type AttemptOutcome = 'answered' | 'dropped' | Symptom

export interface HealthDeps {
  /** Monotonic. */
  nowMs(): number
  readonly isEjecting: () => boolean
  readonly observer: RoutingObserver
}

/** An account's limit that does not say when to come back. */
const REST_DEFAULT_MS = 1_000
const REST_MAX_MS = 5 * 60_000
/** Where nothing else is left, what rests is tried this often all the same. */
const EARLY_PROBE_MS = 1_000
/** A request finds room again as soon as another one ends. */
const FULL_PATIENCE_MS = 1_000
const PAIRS_MAX = 10_000

/**
 * What this process has learned of the ways by which requests are served: each channel's model, and each key. It lives
 * in memory and every process learns for itself. What was learned of channels outlives a reload of the configuration;
 * what was learned of keys does not, because a reload is how an operator says that one is good again.
 */
export class Health {
  readonly #deps: HealthDeps
  readonly #pairs = new LRUCache<string, PairHealth>({ max: PAIRS_MAX })
  readonly #pairOf = new WeakMap<Offer, PairHealth>()
  readonly #credentialOf = new WeakMap<Credential, CredentialHealth>()

  constructor(deps: HealthDeps) {
    this.#deps = deps
  }

  nowMs(): number {
    return this.#deps.nowMs()
  }

  /** When it may be asked, as far as that is known: at once when that is not after `nowMs`. */
  readyAtMs({ offer, credential }: Candidate, nowMs: number): number {
    const ofCredential = this.#credential(credential)
    const roomAtMs = ofCredential.roomAtMs(nowMs)
    if (!this.#deps.isEjecting()) return roomAtMs
    const pair = this.#pair(offer)
    return Math.max(
      roomAtMs,
      pair.breaker.readyAtMs(nowMs),
      ofCredential.breaker.readyAtMs(nowMs),
      pair.restsUntilMs(credential.id),
      pair.concurrency.isFull ? nowMs + FULL_PATIENCE_MS : nowMs,
    )
  }

  /**
   * Whom to ask where all are out: one whom only its breaker keeps out, as long as none of them was tried within the last
   * second. So a channel that has nobody beside it is back a second after it is well.
   */
  lastResort(candidates: readonly Candidate[], nowMs: number): Candidate | undefined {
    const isTooEarly = candidates.some(({ offer }) => !this.#pair(offer).breaker.mayProbeEarly(nowMs, EARLY_PROBE_MS))
    return isTooEarly ? undefined : candidates.find(candidate => this.#isKeptOutByBreaker(candidate, nowMs))
  }

  /** How long it takes to its first output; `undefined`: not known. */
  latencyMs({ offer }: Candidate, nowMs: number): number | undefined {
    return this.#pair(offer).latency.averageMs(nowMs)
  }

  /** An attempt sets out. What is returned must be told how it went, and ended. */
  begin(candidate: Candidate): Attempt {
    const { offer, credential } = candidate
    return new Attempt(this.#deps, candidate, this.#pair(offer), this.#credential(credential))
  }

  isDisabled(credential: Credential): boolean {
    return this.#credential(credential).breaker.state(this.nowMs()) !== 'closed'
  }

  /** Breakers by channel and model of the channel, for metrics. */
  breakers(): { readonly channel: string; readonly model: string; readonly state: BreakerState }[] {
    const nowMs = this.nowMs()
    return [...this.#pairs.entries()].map(([name, { breaker }]) => {
      const [channel = '', model = ''] = name.split('\n')
      return { channel, model, state: breaker.state(nowMs) }
    })
  }

  #isKeptOutByBreaker({ offer, credential }: Candidate, nowMs: number): boolean {
    const pair = this.#pair(offer)
    const ofCredential = this.#credential(credential)
    const othersAtMs = Math.max(
      ofCredential.roomAtMs(nowMs),
      ofCredential.breaker.readyAtMs(nowMs),
      pair.restsUntilMs(credential.id),
    )
    return othersAtMs <= nowMs && !pair.concurrency.isFull
  }

  #pair(offer: Offer): PairHealth {
    const known = this.#pairOf.get(offer)
    if (known) return known
    const pair = offer.channel.isPrivate ? new PairHealth() : this.#sharedPair(offer)
    this.#pairOf.set(offer, pair)
    return pair
  }

  /** Of a channel of the operator's, whose health outlives a change of the configuration. */
  #sharedPair({ channel, upstreamModel }: Offer): PairHealth {
    const name = `${channel.id}\n${upstreamModel}`
    const pair = this.#pairs.get(name) ?? new PairHealth()
    this.#pairs.set(name, pair)
    return pair
  }

  #credential(credential: Credential): CredentialHealth {
    const known = this.#credentialOf.get(credential)
    if (known) return known
    const health = new CredentialHealth(credential)
    this.#credentialOf.set(credential, health)
    return health
  }
}

/** One attempt, from its start to its end, as health counts it. */
export class Attempt implements Disposable {
  readonly #deps: HealthDeps
  readonly #candidate: Candidate
  readonly #pair: PairHealth
  readonly #credential: CredentialHealth
  /** Which probe of a breaker this attempt is, if it is one. */
  readonly #pairProbe: number
  readonly #credentialProbe: number
  #outcome: AttemptOutcome = 'dropped'

  constructor(deps: HealthDeps, candidate: Candidate, pair: PairHealth, credential: CredentialHealth) {
    this.#deps = deps
    this.#candidate = candidate
    this.#pair = pair
    this.#credential = credential
    this.#pairProbe = pair.breaker.begin()
    this.#credentialProbe = credential.breaker.begin()
    pair.concurrency.begin()
    credential.begin(deps.nowMs())
  }

  /** The upstream does its work: known at its first output. @param latencyMs how long that took, where it says something */
  answered(latencyMs?: number): void {
    const nowMs = this.#deps.nowMs()
    this.#outcome = 'answered'
    this.#pair.breaker.succeeded(nowMs, this.#pairProbe)
    this.#pair.concurrency.succeeded()
    if (latencyMs !== undefined) this.#pair.latency.measured(nowMs, latencyMs)
    const { breaker } = this.#credential
    const wasOut = breaker.state(nowMs) !== 'closed'
    breaker.succeeded(nowMs, this.#credentialProbe)
    if (wasOut && breaker.state(nowMs) === 'closed') this.#deps.observer.credentialRestored(this.#candidate)
  }

  /** @param retryAfterMs for how long the upstream asked to be left alone */
  failed(symptom: Symptom, retryAfterMs?: number): void {
    const nowMs = this.#deps.nowMs()
    const { breaks, overloads, rests, disables } = EFFECTS[symptom]
    const isSecond = this.#outcome === 'answered'
    this.#outcome = symptom
    if (breaks) this.#pair.breaker.failed(nowMs, this.#pairProbe, { isSecond })
    if (overloads) this.#pair.concurrency.overloaded(nowMs)
    if (disables) this.#refused(symptom, nowMs)
    if (rests === 'lane') {
      this.#pair.restLane(this.#candidate.credential.id, nowMs + bounded(retryAfterMs ?? REST_DEFAULT_MS))
    } else if (rests === 'pair' && retryAfterMs !== undefined) {
      this.#pair.rest(nowMs + bounded(retryAfterMs))
    }
  }

  [Symbol.dispose](): void {
    this.#pair.breaker.ended(this.#pairProbe)
    this.#credential.breaker.ended(this.#credentialProbe)
    this.#pair.concurrency.end()
    this.#credential.end()
    this.#deps.observer.attempted(this.#candidate, this.#outcome)
  }

  #refused(symptom: Symptom, nowMs: number): void {
    const { breaker } = this.#credential
    const wasClosed = breaker.state(nowMs) === 'closed'
    breaker.failed(nowMs, this.#credentialProbe)
    if (wasClosed && EFFECTS[symptom].disables === 'at-once') breaker.open(nowMs)
    if (wasClosed && breaker.state(nowMs) !== 'closed') this.#deps.observer.credentialDisabled(this.#candidate, symptom)
  }
}

function bounded(retryAfterMs: number): number {
  return Math.min(retryAfterMs, REST_MAX_MS)
}

import type { Catalog, Model, Offer } from '#catalog/catalog.ts'
import { resolveModel } from '#catalog/resolve.ts'
import { Fault } from '#core/fault.ts'
import type { Scene } from '#core/scene.ts'
import type { RoutingInfo, Work } from '#core/work.ts'
import type { OutboundClient } from '#http/outbound/client.ts'
import { Roster } from '#lib/roster.ts'
import { type Charge, computeCharge } from '#metering/charge.ts'
import type { Meter } from '#metering/meter.ts'
import type { Hold } from '#quota/hold.ts'
import type { Quota } from '#quota/quota.ts'
import { type Candidate, candidatesOf } from '#routing/candidate.ts'
import type { RoutedRequest, Router } from '#routing/router.ts'
import { isRefusal } from '#routing/symptom.ts'
import { Allowance } from './allowance.ts'
import type { AnswerCache } from './answer-cache.ts'
import { answerHeaders } from './answer-headers.ts'
import { type AttemptInput, type AttemptTiming, accessOf, type ClientCall } from './call.ts'
import type { ChannelEndpoint, Endpoints } from './endpoints.ts'
import { type Estimate, estimateCost, estimateOutput } from './estimate.ts'
import { allOut, exhausted } from './exhausted.ts'
import { type Fruitless, recordFailure } from './failed-attempt.ts'
import { failOver } from './failover.ts'
import type { Failure } from './failure.ts'
import { prepare } from './prepare.ts'
import type { PrivateOffers } from './private-offers.ts'
import { retold } from './retold.ts'
import { settle } from './settle.ts'
import { shortlist } from './shortlist.ts'
import { StreamAttempt } from './stream-attempt.ts'
import { WholeAttempt } from './whole-attempt.ts'

export interface RelayDeps {
  /** The current snapshot. */
  catalog(): Catalog
  readonly endpoints: Endpoints
  readonly privateOffers: PrivateOffers
  readonly router: Router
  readonly outbound: OutboundClient
  readonly meter: Meter
  readonly quota: Quota
  readonly answerCache: AnswerCache
  /** A stream that is silent for this long is shown to be alive. */
  readonly keepAliveMs: number
  /** Whether answers carry `_routing`. */
  readonly showsRouting: () => boolean
}

/** A call's model, and the ways to it that could serve the call. */
interface Shortlisted {
  readonly model: Model
  readonly catalog: Catalog
  readonly candidates: readonly Candidate[]
  readonly routed: RoutedRequest
}

/** One attempt's circumstances. */
interface Way {
  readonly call: ClientCall
  readonly model: Model
  readonly candidate: Candidate
  readonly retryCount: number
  readonly estimate: Estimate | undefined
  readonly hold: Hold | undefined
}

/** How an attempt ended. */
interface Ending {
  readonly failure?: Failure | undefined
  /** The client has its answer, whole or not, or is gone. */
  readonly isOver?: true
}

const OVER: Ending = Object.freeze({ isOver: true })

/** Runs client calls: the one place where failover, streaming and money meet. */
export class Relay {
  readonly #deps: RelayDeps
  readonly #attempts = new Roster<WholeAttempt | StreamAttempt>()
  readonly #silenceBreaker: NodeJS.Timeout

  constructor(deps: RelayDeps) {
    this.#deps = deps
    // Silence is noticed at the second look, so two looks take as long as a client may be kept waiting.
    this.#silenceBreaker = setInterval(() => this.#breakSilences(), deps.keepAliveMs / 2).unref()
  }

  /**
   * Answers `call` through its sink. Resolves when the answer is out and recorded.
   *
   * @throws Fault while nothing has reached the client
   */
  async run(call: ClientCall): Promise<void> {
    const { work, principal, facts } = call
    const { meter } = this.#deps
    const catalog = this.#deps.catalog()
    const model = resolveModel(catalog, work.model, principal.models)
    assertScene(model, call)
    meter.assertAccepting()
    Object.assign(facts, {
      model: model.id,
      scene: work.scene,
      organization_id: principal.organizationId,
      api_key_id: principal.keyId,
    })
    const routed = this.#routed(call, model)
    const candidates = shortlist(call, model, await this.#candidatesFor(call, model), {
      canServe: ({ offer }) => this.#endpointOf(offer, call) !== undefined,
      traits: routed.traits,
    })
    const shortlisted = { model, catalog, candidates, routed }
    if (!call.caching) return this.#ask(call, shortlisted)
    const plan = candidates.map(({ offer }) => offer)
    return this.#deps.answerCache.run({ call, model, plan }, asked => this.#ask(asked, shortlisted))
  }

  /** Has the call answered by an upstream. @throws Fault while nothing has reached the client */
  async #ask(call: ClientCall, { model, catalog, candidates, routed }: Shortlisted): Promise<void> {
    const { work, principal, facts } = call
    const { router, quota } = this.#deps
    const { order } = router.choose(candidates, routed)
    const exhaustion = { call, model, catalog, router, candidates }
    if (order.length === 0) {
      if (this.#answerItself(call, model)) return
      throw candidates.length === 0 ? unserved(model) : allOut(exhaustion)
    }
    const estimate = estimateCost(work, model, candidates)
    // However this ends, what was set aside is settled by then or released.
    using hold = estimate && (await quota.admit(principal, estimate.cost))
    const failure = await failOver({
      order,
      health: router.health,
      retries: router.retriesOf(model),
      policy: router.policy,
      attempt: (candidate, retryCount) => this.#attempt({ call, model, candidate, retryCount, estimate, hold }),
    })
    if (!failure || (failure.kind !== 'final' && this.#answerItself(call, model))) return
    throw exhausted(failure, Number(facts.attempts), exhaustion)
  }

  /** Ends everything under way; each call still tells its client and records what it used. */
  stopAll(): void {
    const fault = new Fault('service_unavailable', 'The gateway is shutting down.', { retryAfterSeconds: 1 })
    for (const attempt of this.#attempts.list()) attempt.stop(fault)
    clearInterval(this.#silenceBreaker)
  }

  #breakSilences(): void {
    for (const attempt of this.#attempts.list()) {
      if (attempt instanceof StreamAttempt) attempt.breakSilence()
    }
  }

  /** How much output is paid for, and how more of it gets paid for. */
  #allow(offer: Offer, estimate: Estimate | undefined, hold: Hold | undefined): Allowance | undefined {
    if (!estimate || !hold) return undefined
    return new Allowance(estimate.usage.outputTokens ?? 0, tokens =>
      this.#deps.quota.extend(hold, estimateOutput(tokens, estimate, offer)),
    )
  }

  #routed({ work, principal }: ClientCall, model: Model): RoutedRequest {
    return {
      model,
      scope: principal.workspaceId,
      traits: this.#deps.router.isDiscerning(model) ? work.traits?.() : undefined,
      costOf: offer => (work.isFree ? 0 : Number(computeCharge(work.estimate(model.limits), offer.price).cost)),
    }
  }

  /** The workspace's own ways to the model before the platform's. @throws Fault as {@link PrivateOffers.candidates} */
  async #candidatesFor(call: ClientCall, model: Model): Promise<readonly Candidate[]> {
    const { router, privateOffers } = this.#deps
    const offers = await privateOffers.candidates(call, model)
    if (offers === model.offers) return router.candidatesOf(model)
    const own = candidatesOf(
      offers.filter(({ channel }) => channel.isPrivate),
      { isPrivate: true },
    )
    return own.length < offers.length ? [...own, ...router.candidatesOf(model)] : own
  }

  /** @returns whether the gateway knew an answer */
  #answerItself({ work, sink }: ClientCall, model: Model): boolean {
    const answer = work.answerWithoutUpstream?.(model.limits)
    if (answer) sink.send(200, answerHeaders(JSON_HEADERS, answer), answer.body)
    return answer !== undefined
  }

  /** @returns the failure when the client has seen nothing; otherwise the call is over */
  async #attempt(way: Way): Promise<Failure | undefined> {
    const { call, model, candidate, retryCount, estimate, hold } = way
    const { offer } = candidate
    const prepared = this.#prepare(way)
    using attempt = this.#deps.router.health.begin(candidate)
    this.#deps.privateOffers.noteAttempt(offer)
    call.facts.channel = offer.channel.id
    call.facts.access_channel = accessOf(offer)
    call.facts.attempts = retryCount + 1
    const input: AttemptInput = {
      ...prepared,
      hold,
      allowance: this.#allow(offer, estimate, hold),
      onOutput: latencyMs => attempt.answered(latencyMs),
    }
    const { failure, isOver } = await (call.work.isStream ? this.#stream(input, model) : this.#whole(input, model))
    if (!failure) return undefined
    const { symptom, fault } = failure
    // What becomes of a customer's key is the customer's affair, and told to nobody else.
    if (candidate.isPrivate && isRefusal(symptom)) attempt.answered()
    else if (symptom) attempt.failed(symptom, msOf(fault.hints.retryAfterSeconds))
    else if (failure.kind === 'final' && fault.upstream) attempt.answered()
    if (isOver) return undefined
    noteFailed(call, offer.channel.id)
    return this.#deps.privateOffers.explain(offer, { ...failure, fault: retold(fault, offer, model) })
  }

  #prepare({ call, model, candidate, retryCount }: Way): Omit<AttemptInput, 'hold' | 'allowance' | 'onOutput'> {
    const { endpoints, outbound } = this.#deps
    const { offer } = candidate
    const endpoint = this.#endpointOf(offer, call) as ChannelEndpoint
    const routing = this.#deps.showsRouting() ? routingInfo(candidate, retryCount) : undefined
    const prepared = prepare({ work: call.work, model, way: candidate, routing }, endpoint, endpoints)
    return { call, offer, attempt: retryCount, routing, outbound, ...prepared }
  }

  #endpointOf({ channel, upstreamModel }: Offer, { work }: ClientCall): ChannelEndpoint | undefined {
    return this.#deps.endpoints.find(channel, work, upstreamModel)
  }

  async #whole(input: AttemptInput, model: Model): Promise<Ending> {
    const { call } = input
    const outcome = await this.#track(new WholeAttempt(input))
    noteTiming(call, outcome.timing)
    if (outcome.kind === 'failed' || outcome.kind === 'gone') return this.#giveUp(input, model, outcome)
    input.onOutput(latencyOf(call.work, outcome.timing))
    const { answer, timing } = outcome
    if (!call.work.isFree) await this.#settle(input, model, { observed: answer.observed, outcome: 'completed', timing })
    await call.work.beforeEnd?.(answer.body)
    call.sink.send(200, answerHeaders(JSON_HEADERS, input.exchange, answer), answer.body)
    noteOverhead(call, outcome.timing)
    return OVER
  }

  async #stream(input: AttemptInput, model: Model): Promise<Ending> {
    const { sink } = input.call
    const outcome = await this.#track(new StreamAttempt(input))
    noteTiming(input.call, outcome.timing)
    if (outcome.kind === 'failed' || outcome.kind === 'gone') return this.#giveUp(input, model, outcome)
    const { codec, timing } = outcome
    const failure = outcome.kind === 'cut' ? outcome.failure : undefined
    let fault = outcome.kind === 'stopped' ? outcome.fault : failure?.fault
    try {
      await this.#settle(input, model, { observed: codec.observed, outcome: OUTCOMES[outcome.kind], timing })
    } catch (error) {
      // The answer was produced but cannot be accounted for: the client must not take it for whole.
      fault = Fault.from(error)
    }
    if (fault) {
      input.call.facts.fault = fault
      sink.end(codec.encodeFault(retold(fault, input.offer, model)))
    } else {
      const lastBytes = codec.finish()
      if (outcome.kind === 'completed') await input.call.work.beforeEnd?.(lastBytes)
      sink.end(lastBytes)
    }
    noteOverhead(input.call, outcome.timing)
    return { failure, isOver: true }
  }

  async #giveUp(input: AttemptInput, model: Model, fruitless: Fruitless): Promise<Ending> {
    await recordFailure({ meter: this.#deps.meter, input, model }, fruitless)
    const { failure, reply } = fruitless
    return failure ? { failure: reply ? { ...failure, status: reply.status } : failure } : OVER
  }

  async #track<T>(attempt: (WholeAttempt | StreamAttempt) & { outcome: Promise<T> }): Promise<T> {
    this.#attempts.add(attempt)
    const outcome = await attempt.outcome
    this.#attempts.delete(attempt)
    return outcome
  }

  async #settle(input: AttemptInput, model: Model, over: Parameters<typeof settle>[1]): Promise<void> {
    const charge: Charge = await settle({ meter: this.#deps.meter, input, model }, over)
    input.call.facts.price_version = charge.priceVersion
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' }

const OUTCOMES = Object.freeze({ completed: 'completed', cut: 'cut', stopped: 'stopped', 'client-gone': 'client_gone' })

function assertScene(model: Model, { work }: ClientCall): void {
  if (model.scene === work.scene || ALSO_DONE_BY[work.scene] === model.scene) return
  throw new Fault('invalid_request', `The model "${model.id}" is a ${model.scene} model and cannot do ${work.scene}.`, {
    param: 'model',
    ...(model.scene === 'translation' && { hint: 'Say into which language in `translation_options`.' }),
  })
}

/** Work that models of another scene can do as well. */
const ALSO_DONE_BY: Readonly<Partial<Record<Scene, Scene>>> = { translation: 'chat' }

function unserved(model: Model): Fault {
  return new Fault('invalid_request', `The model "${model.id}" is not served at this endpoint.`, { param: 'model' })
}

function routingInfo({ offer, isPrivate }: Candidate, retryCount: number): RoutingInfo {
  const { id, name, provider } = offer.channel
  return { channel: { id, name, provider, channelType: isPrivate ? 'PRIVATE' : 'PLATFORM' }, cached: false, retryCount }
}

/** The time to a whole answer of a chat tells how long the answer is; of all else, how fast the upstream is. */
function latencyOf({ operation }: Work, { firstByteAtMs, sentAtMs }: AttemptTiming): number | undefined {
  return operation === 'chat' ? undefined : firstByteAtMs - sentAtMs
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000
}

function noteFailed({ facts }: ClientCall, channelId: string): void {
  const before = Array.isArray(facts.failed_channels) ? facts.failed_channels : []
  facts.failed_channels = [...before, channelId]
}

function noteTiming({ facts }: ClientCall, timing: AttemptTiming): void {
  facts.upstream_ms = round(timing.endedAtMs - timing.sentAtMs)
  if (timing.firstByteAtMs > 0) facts.first_byte_ms = round(timing.firstByteAtMs - timing.sentAtMs)
  if (timing.firstOutputAtMs > 0) facts.first_token_ms = round(timing.firstOutputAtMs - timing.sentAtMs)
}

/** What the gateway itself added: before the upstream was asked, and after it had said everything. */
function noteOverhead({ facts, receivedAtMs }: ClientCall, timing: AttemptTiming): void {
  facts.overhead_ms = round(timing.sentAtMs - receivedAtMs + (performance.now() - timing.endedAtMs))
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

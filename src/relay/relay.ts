import type { Catalog, Model, Offer } from '#catalog/catalog.ts'
import { resolveModel } from '#catalog/resolve.ts'
import { Fault } from '#core/fault.ts'
import type { Scene } from '#core/scene.ts'
import type { RoutingInfo } from '#core/work.ts'
import type { OutboundClient } from '#http/outbound/client.ts'
import { Roster } from '#lib/roster.ts'
import type { Charge } from '#metering/charge.ts'
import type { Meter } from '#metering/meter.ts'
import type { Hold } from '#quota/hold.ts'
import type { Quota } from '#quota/quota.ts'
import { planAttempts } from '#routing/plan.ts'
import { Allowance } from './allowance.ts'
import { answerHeaders } from './answer-headers.ts'
import type { AttemptInput, AttemptTiming, ClientCall } from './call.ts'
import type { ChannelEndpoint, Endpoints } from './endpoints.ts'
import { type Estimate, estimateCost, estimateOutput } from './estimate.ts'
import { type Fruitless, recordFailure } from './failed-attempt.ts'
import type { Failure } from './failure.ts'
import { prepare } from './prepare.ts'
import { settle } from './settle.ts'
import { StreamAttempt } from './stream-attempt.ts'
import { WholeAttempt } from './whole-attempt.ts'

export interface RelayDeps {
  /** The current snapshot. */
  catalog(): Catalog
  readonly endpoints: Endpoints
  readonly outbound: OutboundClient
  readonly meter: Meter
  readonly quota: Quota
  /** A stream that is silent for this long is shown to be alive. */
  readonly keepAliveMs: number
  /** Whether answers carry `_routing`. */
  readonly showsRouting: () => boolean
}

const RETRY_AFTER_SECONDS_DEFAULT = 5

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
    const model = resolveModel(this.#deps.catalog(), work.model, principal.models)
    assertScene(model, call)
    this.#deps.meter.assertAccepting()
    const plan = planAttempts(model, offer => this.#endpointOf(offer, call) !== undefined)
    Object.assign(facts, {
      model: model.id,
      scene: work.scene,
      organization_id: principal.organizationId,
      api_key_id: principal.keyId,
    })
    const estimate = estimateCost(work, model, plan)
    // However this ends, what was set aside is settled by then or released.
    using hold = estimate && (await this.#deps.quota.admit(principal, estimate.cost))
    let failure: Failure | undefined
    for (const [retryCount, offer] of plan.entries()) {
      const input = {
        ...this.#prepare(call, model, offer, retryCount),
        hold,
        allowance: this.#allow(offer, estimate, hold),
      }
      facts.channel = offer.channel.id
      facts.attempts = retryCount + 1
      failure = await (work.isStream ? this.#stream(input, model) : this.#whole(input, model))
      if (failure?.kind !== 'safe') break
    }
    const fallback = failure?.kind === 'final' ? undefined : work.answerWithoutUpstream?.(model.limits)
    if (fallback && (failure || plan.length === 0)) {
      return call.sink.send(200, answerHeaders(JSON_HEADERS, fallback), fallback.body)
    }
    if (failure) throw exhausted(failure, plan.length)
    if (plan.length === 0) {
      throw new Fault('invalid_request', `The model "${model.id}" is not served at this endpoint.`, { param: 'model' })
    }
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

  #prepare(call: ClientCall, model: Model, offer: Offer, retryCount: number): Omit<AttemptInput, 'hold' | 'allowance'> {
    const { endpoints, outbound } = this.#deps
    const endpoint = this.#endpointOf(offer, call) as ChannelEndpoint
    const routing = this.#deps.showsRouting() ? routingOf(offer, retryCount) : undefined
    const prepared = prepare({ work: call.work, model, offer, routing }, endpoint, endpoints)
    return { call, offer, attempt: retryCount, outbound, ...prepared }
  }

  #endpointOf({ channel, upstreamModel }: Offer, { work }: ClientCall): ChannelEndpoint | undefined {
    return this.#deps.endpoints.find(channel, work, upstreamModel)
  }

  /** @returns the failure when the client has seen nothing; otherwise the call is over */
  async #whole(input: AttemptInput, model: Model): Promise<Failure | undefined> {
    const { call } = input
    const outcome = await this.#track(new WholeAttempt(input))
    noteTiming(call, outcome.timing)
    if (outcome.kind === 'failed' || outcome.kind === 'gone') return this.#giveUp(input, model, outcome)
    const { answer } = outcome
    if (!call.work.isFree) await this.#settle(input, model, { observed: answer.observed, outcome: 'completed' })
    await call.work.beforeEnd?.(answer.body)
    call.sink.send(200, answerHeaders(JSON_HEADERS, input.exchange, answer), answer.body)
    noteOverhead(call, outcome.timing)
    return undefined
  }

  async #stream(input: AttemptInput, model: Model): Promise<Failure | undefined> {
    const { sink } = input.call
    const outcome = await this.#track(new StreamAttempt(input))
    noteTiming(input.call, outcome.timing)
    if (outcome.kind === 'failed' || outcome.kind === 'gone') return this.#giveUp(input, model, outcome)
    const { codec } = outcome
    let fault = 'fault' in outcome ? outcome.fault : undefined
    try {
      await this.#settle(input, model, { observed: codec.observed, outcome: OUTCOMES[outcome.kind] })
    } catch (error) {
      // The answer was produced but cannot be accounted for: the client must not take it for whole.
      fault = Fault.from(error)
    }
    if (fault) {
      input.call.facts.fault = fault
      sink.end(codec.encodeFault(fault))
    } else {
      const lastBytes = codec.finish()
      if (outcome.kind === 'completed') await input.call.work.beforeEnd?.(lastBytes)
      sink.end(lastBytes)
    }
    noteOverhead(input.call, outcome.timing)
    return undefined
  }

  async #giveUp(input: AttemptInput, model: Model, fruitless: Fruitless): Promise<Failure | undefined> {
    await recordFailure({ meter: this.#deps.meter, input, model }, fruitless)
    return fruitless.failure
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

function routingOf({ channel: { id, name, provider } }: Offer, retryCount: number): RoutingInfo {
  return { channel: { id, name, provider, channelType: 'PLATFORM' }, cached: false, retryCount }
}

function assertScene(model: Model, { work }: ClientCall): void {
  if (model.scene === work.scene || ALSO_DONE_BY[work.scene] === model.scene) return
  throw new Fault('invalid_request', `The model "${model.id}" is a ${model.scene} model and cannot do ${work.scene}.`, {
    param: 'model',
    ...(model.scene === 'translation' && { hint: 'Say into which language in `translation_options`.' }),
  })
}

/** Work that models of another scene can do as well. */
const ALSO_DONE_BY: Readonly<Partial<Record<Scene, Scene>>> = { translation: 'chat' }

/** One channel's failure is told as it is; of several, only that none was left. */
function exhausted({ fault, kind }: Failure, planned: number): Fault {
  const hints = {
    retryAfterSeconds: fault.hints.retryAfterSeconds ?? RETRY_AFTER_SECONDS_DEFAULT,
    cause: fault.cause ?? fault,
  }
  if (fault.code === 'all_channels_failed') return new Fault('all_channels_failed', fault.message, hints)
  if (kind !== 'safe' || planned === 1) return fault
  return new Fault('all_channels_failed', 'No provider could take this request.', hints)
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

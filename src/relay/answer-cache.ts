import type { Model, Offer } from '#catalog/catalog.ts'
import type { RoutingInfo } from '#core/work.ts'
import type { Consumption, Meter } from '#metering/meter.ts'
import { keyOf } from '#response-cache/key.ts'
import type { FoundAnswer, ResponseCache } from '#response-cache/response-cache.ts'
import type { AnswerPlace } from '#response-cache/store.ts'
import type { CachingWish, ClientCall, Settled } from './call.ts'
import { type Recorded, RecordingSink } from './recording-sink.ts'
import { replayStream } from './replay.ts'

/** Changes when the gateway makes other answers of the same upstream bytes and older ones should not be given again. */
const GENERATION = '1'

export interface AnswerCacheDeps {
  readonly responses: ResponseCache
  readonly meter: Meter
  readonly showsRouting: () => boolean
}

/** A call that asks for kept answers, and the ways in which its model could be asked. */
interface CachedCall {
  readonly call: ClientCall
  readonly model: Model
  readonly plan: readonly Offer[]
}

/**
 * Stands before the attempts of a call that asks for it: gives an answer again that was given to the same request, or
 * has an upstream asked and keeps what it says.
 */
export class AnswerCache {
  readonly #deps: AnswerCacheDeps

  constructor(deps: AnswerCacheDeps) {
    this.#deps = deps
  }

  /** @param ask has the call answered by an upstream. @throws what it throws */
  async run(cached: CachedCall, ask: (call: ClientCall) => Promise<void>): Promise<void> {
    const { call } = cached
    const { caching, work } = call
    const place = caching && this.#placeOf(cached)
    if (!caching || !place || work.isFree) return ask(record(call, 'bypass', 0).call)
    const found = caching.mode === 'use' && (await this.#deps.responses.find(place, caching.maxAgeSeconds))
    // An answer of a channel that this request may not use, or that is no longer there, is none for it.
    const offer = found && cached.plan.find(({ channel }) => channel.id === found.channelId)
    if (found && offer) return this.#giveAgain(cached, found, offer)
    const recording = record(call, STATES[caching.mode], this.#deps.responses.answerBytesMax)
    await ask(recording.call)
    const { settled, recorded } = recording
    if (settled?.consumption.outcome === 'completed' && recorded) this.#keep(call, place, settled, recorded)
  }

  /** Where the answer to a request is kept; `undefined` for a request whose answer is for it alone. */
  #placeOf({ call: { work, principal }, model }: CachedCall): AnswerPlace | undefined {
    if (!work.identity) return undefined
    const shown = String(this.#deps.showsRouting())
    const key = keyOf([GENERATION, work.format, work.operation, model.id, upstreamsOf(model), shown, ...work.identity])
    return { workspaceId: principal.workspaceId, key }
  }

  /** Nothing is set aside and nothing charged: it also serves who has nothing left to spend. */
  async #giveAgain({ call, model }: CachedCall, found: FoundAnswer, offer: Offer): Promise<void> {
    const { sink, work, facts } = call
    const { priceVersion } = await this.#deps.meter.record(consumptionOf(call, model, { found, offer }), undefined)
    Object.assign(facts, {
      outcome: 'cached',
      cache: 'hit',
      channel: offer.channel.id,
      cost_usd: '0',
      price_version: priceVersion,
    })
    const headers = { ...found.headers, 'x-gateway-cache': 'hit', age: String(found.ageSeconds) }
    if (!work.isStream) return sink.send(200, headers, found.body)
    facts.is_stream = true
    await replayStream(sink, headers, found.body)
  }

  #keep(
    { principal, caching, requestId }: ClientCall,
    place: AnswerPlace,
    { consumption, routing }: Settled,
    recorded: Recorded,
  ): void {
    const { offer, accessChannel, usage, isEstimated } = consumption
    this.#deps.responses.keep({
      ...place,
      organizationId: principal.organizationId,
      requestId,
      ttlSeconds: (caching as CachingWish).maxAgeSeconds,
      answer: {
        channelId: offer.channel.id,
        accessChannel,
        usage,
        isEstimated,
        headers: recorded.headers,
        body: routing ? showAsCached(recorded.body, routing) : recorded.body,
      },
    })
  }
}

/** What `x-gateway-cache` says of an answer that an upstream gives. */
const STATES = Object.freeze({ use: 'miss', refresh: 'refresh' })

/** The call with a sink that keeps a copy, and what comes of it. */
function record(call: ClientCall, state: string, bytesMax: number) {
  const sink = new RecordingSink(call.sink, { extraHeaders: { 'x-gateway-cache': state }, bytesMax })
  let settled: Settled | undefined
  call.facts.cache = state
  return {
    call: { ...call, sink, onSettled: (what: Settled) => (settled = what) },
    get settled() {
      return settled
    },
    get recorded() {
      return sink.recorded
    },
  }
}

/**
 * What the model is, as far as the answer depends on it. With another upstream behind it an answer no longer counts;
 * with another price it does, since nothing is bought.
 */
function upstreamsOf({ limits, capabilities, offers }: Model): string {
  const upstreams = offers.map(({ channel, upstreamModel }) => [
    channel.id,
    channel.provider,
    channel.baseUrl,
    channel.formats,
    channel.quirks,
    upstreamModel,
  ])
  return JSON.stringify([limits, capabilities, upstreams])
}

function consumptionOf(
  { requestId, principal, work, receivedAtMs }: ClientCall,
  model: Model,
  { found, offer }: { found: FoundAnswer; offer: Offer },
): Consumption {
  const { organizationId, workspaceId, keyId } = principal
  const { accessChannel, usage, isEstimated } = found
  return {
    requestId,
    organizationId,
    workspaceId,
    keyId,
    model,
    offer,
    scene: work.scene,
    accessChannel,
    usage,
    isEstimated,
    outcome: 'cached',
    attempt: 0,
    durationMs: performance.now() - receivedAtMs,
    firstOutputMs: undefined,
  }
}

/**
 * The bytes of an answer with its `_routing` as it is when it is given again. What is looked for can stand nowhere else:
 * within a JSON text its quotes would be escaped.
 */
function showAsCached(body: Buffer, routing: RoutingInfo): Buffer {
  const shown = Buffer.from(`"_routing":${JSON.stringify(routing)}`)
  const at = body.indexOf(shown)
  if (at === -1) return body
  const cached = Buffer.from(`"_routing":${JSON.stringify({ ...routing, cached: true, retryCount: 0 })}`)
  return Buffer.concat([body.subarray(0, at), cached, body.subarray(at + shown.length)])
}

import type { Offer } from '#catalog/catalog.ts'
import type { DeliveryPolicy } from '#core/delivery.ts'
import type { AccessChannel } from '#core/scene.ts'
import type { Sink } from '#core/sink.ts'
import type { Exchange, RoutingInfo, Work } from '#core/work.ts'
import type { OutboundClient, OutboundRequest } from '#http/outbound/client.ts'
import type { Consumption } from '#metering/meter.ts'
import type { Hold } from '#quota/hold.ts'
import type { Principal } from '#tenants/principal.ts'
import type { Allowance } from './allowance.ts'

/** How a caller wants answers used that were given before to the same request. */
export interface CachingWish {
  /** `refresh`: asks anew, and keeps the answer for those who use it. */
  readonly mode: 'use' | 'refresh'
  /** How old an answer may be, and how long this one may be used. */
  readonly maxAgeSeconds: number
}

/** What was recorded of an answer. */
export interface Settled {
  readonly consumption: Consumption
  /** As the answer shows it. */
  readonly routing: RoutingInfo | undefined
}

/** A client's request on its way through the relay. */
export interface ClientCall {
  readonly requestId: string
  readonly principal: Principal
  readonly deliveryPolicy: DeliveryPolicy
  readonly work: Work
  /** Whose provider account is to serve it; `undefined`: the customer's own where there is one. */
  readonly access: AccessChannel | undefined
  readonly sink: Sink
  /** `performance.now()` when its headers were in. */
  readonly receivedAtMs: number
  /** Fields for the request's log line. */
  readonly facts: Record<string, unknown>
  /** `undefined`: each request is asked anew, and no answer is kept. */
  readonly caching?: CachingWish | undefined
  /** Told of what was recorded, once it is. */
  readonly onSettled?: (settled: Settled) => void
}

/** One upstream about to be asked. */
export interface AttemptInput {
  readonly call: ClientCall
  /** What was set aside for the call; `undefined` when it costs nothing. */
  readonly hold: Hold | undefined
  /** How far the hold covers a stream. */
  readonly allowance: Allowance | undefined
  readonly offer: Offer
  /** 0 for the first upstream that is asked. */
  readonly attempt: number
  readonly exchange: Exchange
  /** As the answer will show it. */
  readonly routing: RoutingInfo | undefined
  readonly request: OutboundRequest
  readonly outbound: OutboundClient
  /** Called once, when the upstream's first output has come: it does its work, and took this long where that is known. */
  readonly onOutput: (latencyMs: number | undefined) => void
}

/** Whose account serves a request on this way. */
export function accessOf({ channel }: Offer): AccessChannel {
  return channel.isPrivate ? 'byok' : 'platform'
}

/** When things happened in an attempt, by `performance.now()`. */
export interface AttemptTiming {
  readonly sentAtMs: number
  /** Headers of the answer; 0 while there are none. */
  firstByteAtMs: number
  /** First bytes that went to the client; 0 while there are none. */
  firstOutputAtMs: number
  /** The upstream had said everything, or failed. */
  endedAtMs: number
}

export function startTiming(): AttemptTiming {
  return { sentAtMs: performance.now(), firstByteAtMs: 0, firstOutputAtMs: 0, endedAtMs: 0 }
}

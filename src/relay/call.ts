import type { Offer } from '#catalog/catalog.ts'
import type { Sink } from '#core/sink.ts'
import type { Exchange, Work } from '#core/work.ts'
import type { OutboundClient, OutboundRequest } from '#http/outbound/client.ts'
import type { Hold } from '#quota/hold.ts'
import type { Principal } from '#tenants/principal.ts'
import type { Allowance } from './allowance.ts'

/** A client's request on its way through the relay. */
export interface ClientCall {
  readonly requestId: string
  readonly principal: Principal
  readonly work: Work
  readonly sink: Sink
  /** `performance.now()` when its headers were in. */
  readonly receivedAtMs: number
  /** Fields for the request's log line. */
  readonly facts: Record<string, unknown>
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
  readonly request: OutboundRequest
  readonly outbound: OutboundClient
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

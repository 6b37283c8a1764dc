import type { Exchange } from '#core/work.ts'
import { FRAMINGS } from '#wire/framing.ts'
import type { ChannelEndpoint } from './endpoints.ts'

/** An exchange in an endpoint's format, with what its host wants otherwise than the format says. */
export function hostedExchange(exchange: Exchange, endpoint: ChannelEndpoint): Exchange {
  if (endpoint.isPlain) return exchange
  const { adapt = same, decodeFault = exchange.decodeFault, framing } = endpoint
  return {
    ...exchange,
    ...adapt(exchange),
    decodeFault,
    openStream: () => FRAMINGS[framing].unframe(exchange.openStream()),
  }
}

function same<T>(value: T): T {
  return value
}

import type { Model } from '#catalog/catalog.ts'
import type { Exchange, RoutingInfo, Work } from '#core/work.ts'
import type { OutboundRequest } from '#http/outbound/client.ts'
import type { Candidate } from '#routing/candidate.ts'
import { FRAMINGS } from '#wire/framing.ts'
import type { ChannelEndpoint, Endpoints } from './endpoints.ts'
import { hostedExchange } from './hosted-exchange.ts'

/** Work for one offer of a model. */
export interface Asked {
  readonly work: Work
  readonly model: Model
  /** The offer, and the credential with which its channel is asked. */
  readonly way: Pick<Candidate, 'offer' | 'credential'>
  /** Shown to the client where the operator wants that. */
  readonly routing: RoutingInfo | undefined
}

/** What goes to an upstream, and the means to read what it answers. */
export interface Prepared {
  readonly exchange: Exchange
  readonly request: OutboundRequest
}

/** Puts work to an endpoint of the offer's channel: in its format, in its host's words, with the channel's credential. */
export function prepare(asked: Asked, endpoint: ChannelEndpoint, endpoints: Endpoints): Prepared {
  const { work, way } = asked
  const { offer, credential } = way
  const { channel } = offer
  const exchange = exchangeWith(endpoint, asked)
  const request = {
    method: 'POST',
    url: endpoint.url(offer.upstreamModel, work.isStream),
    headers: {
      'content-type': 'application/json',
      accept: work.isStream ? FRAMINGS[endpoint.framing].contentType : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      ...exchange.headers,
    },
    body: exchange.body,
  } as const
  const headers = endpoints.authorize(channel, credential, request)
  const isGuarded = channel.isPrivate === true && channel.baseUrl !== undefined
  return { exchange, request: { ...request, headers, scope: channel.id, timeouts: channel.timeouts, isGuarded } }
}

function exchangeWith(endpoint: ChannelEndpoint, { work, model, way, routing }: Asked): Exchange {
  const { upstreamModel } = way.offer
  const encoded = work.encode({
    format: endpoint.format,
    upstreamModel,
    publicModel: model.id,
    capabilities: model.capabilities,
    limits: model.limits,
    quirks: endpoint.quirks(upstreamModel),
    routing,
  })
  return hostedExchange(encoded, endpoint)
}

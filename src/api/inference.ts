import type { DeliveryPolicy } from '#core/delivery.ts'
import { Fault } from '#core/fault.ts'
import { ACCESS_CHANNELS, type AccessChannel } from '#core/scene.ts'
import type { Work } from '#core/work.ts'
import type { rateHeaders } from '#http/inbound/rate-headers.ts'
import { type AnyRoute, defineRoute, type Inbound, type RouteDocs } from '#http/inbound/route.ts'
import type { Relay } from '#relay/relay.ts'
import type { Principal } from '#tenants/principal.ts'
import type { WireFormat } from '#wire/format.ts'
import { type CachingTimes, cachingWish } from './caching.ts'
import { admitCaller, type CallerDeps } from './caller.ts'
import { credentialOf } from './credential.ts'
import { deliveryPolicyOf } from './delivery-policy.ts'

export interface ApiDeps extends CallerDeps {
  readonly relay: Relay
  readonly cachingTimes: CachingTimes
}

const MEBIBYTE = 1024 * 1024

/** Images and documents travel in the body as base64. */
const BODY_BYTES_MAX = 20 * MEBIBYTE

export interface InferenceEndpoint {
  readonly path: string
  /** The request as its family's `Work`. @throws Fault `invalid_request` naming the field */
  readonly work: (request: Inbound, principal: Principal) => Work | Promise<Work>
  /** Where the caller's key stands; `Authorization` or `x-api-key` unless given. */
  readonly credential?: (request: Inbound) => string | undefined
  /** How the endpoint's family says where the caller's limit stands; OpenAI's way unless given. */
  readonly spellRate?: typeof rateHeaders
  /** How the endpoint's family words a fault; the gateway's own error object unless given. */
  readonly encodeFault?: WireFormat['encodeFault']
  readonly docs: Omit<RouteDocs, 'security' | 'errors'>
}

/** A route that runs one family's work through the relay for the caller of an API key. */
export function inferenceRoute(deps: ApiDeps, endpoint: InferenceEndpoint): AnyRoute {
  const { credential = credentialOf, encodeFault, spellRate } = endpoint
  return defineRoute<Principal>({
    method: 'POST',
    path: endpoint.path,
    bodyBytesMax: BODY_BYTES_MAX,
    authorize: request => admitCaller(deps, request, credential(request), spellRate),
    handle: async (request, principal) => {
      const deliveryPolicy = deliveryPolicyOf(request, principal)
      const caching = cachingWish(request.headers, principal, deps.cachingTimes)
      const work = await endpoint.work(request, principal)
      await deps.relay.run({ ...toCall(request, principal, deliveryPolicy, work), caching })
    },
    ...(encodeFault && { encodeFault: (fault, { id }) => encodeFault(fault, id) }),
    docs: { ...endpoint.docs, security: 'api-key', errors: [400, 401, 402, 403, 413, 429, 502, 503, 504] },
  })
}

function toCall(
  { id, sink, receivedAtMs, facts, headers }: Inbound,
  principal: Principal,
  deliveryPolicy: DeliveryPolicy,
  work: Work,
): Parameters<Relay['run']>[0] {
  return { requestId: id, principal, deliveryPolicy, work, access: accessOf(headers), sink, receivedAtMs, facts }
}

const ACCESS_HEADER = 'x-access-channel'

/** Whose provider account the caller wants to be served by. @throws Fault `invalid_request` */
function accessOf({ [ACCESS_HEADER]: wanted }: Inbound['headers']): AccessChannel | undefined {
  if (wanted === undefined) return undefined
  const access = ACCESS_CHANNELS.find(each => each === wanted)
  if (access) return access
  throw new Fault('invalid_request', `The header "${ACCESS_HEADER}" must be one of ${ACCESS_CHANNELS.join(', ')}.`, {
    param: ACCESS_HEADER,
  })
}

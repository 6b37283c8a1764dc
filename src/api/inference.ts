import type { Work } from '#core/work.ts'
import type { rateHeaders } from '#http/inbound/rate-headers.ts'
import { type AnyRoute, defineRoute, type Inbound, type RouteDocs } from '#http/inbound/route.ts'
import type { Relay } from '#relay/relay.ts'
import type { Principal } from '#tenants/principal.ts'
import type { WireFormat } from '#wire/format.ts'
import { admitCaller, type CallerDeps } from './caller.ts'
import { credentialOf } from './credential.ts'

export interface ApiDeps extends CallerDeps {
  readonly relay: Relay
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
    handle: async (request, principal) =>
      deps.relay.run(toCall(request, principal, await endpoint.work(request, principal))),
    ...(encodeFault && { encodeFault: (fault, { id }) => encodeFault(fault, id) }),
    docs: { ...endpoint.docs, security: 'api-key', errors: [400, 401, 402, 403, 413, 429, 502, 503, 504] },
  })
}

function toCall(
  { id, sink, receivedAtMs, facts }: Inbound,
  principal: Principal,
  work: Work,
): Parameters<Relay['run']>[0] {
  return { requestId: id, principal, work, sink, receivedAtMs, facts }
}

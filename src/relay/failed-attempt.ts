import type { Model } from '#catalog/catalog.ts'
import type { ResponseHeaders } from '#http/outbound/client.ts'
import type { FailureKind } from '#metering/failed-attempts/record.ts'
import type { Meter } from '#metering/meter.ts'
import type { AttemptInput } from './call.ts'
import type { Failure } from './failure.ts'

/** How an upstream's answer began. */
export interface Reply {
  readonly status: number
  readonly headers: ResponseHeaders
}

/** An attempt that brought the client nothing: it failed, or the client did not wait. */
export interface Fruitless {
  /** `undefined`: the client went away. */
  readonly failure?: Failure
  /** `undefined`: no answer began. */
  readonly reply: Reply | undefined
}

/** By these names providers tell the id under which they know a call, in the order of their frequency. */
const REQUEST_ID_HEADERS = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id']

/** Records an upstream call that leaves no usage, because its provider may bill it all the same. */
export async function recordFailure(
  { meter, input, model }: { meter: Meter; input: AttemptInput; model: Model },
  { failure, reply }: Fruitless,
): Promise<void> {
  const { call, offer, attempt } = input
  if (call.work.isFree) return
  const kind = kindOf(failure, reply)
  await meter.recordFailure({
    requestId: call.requestId,
    organizationId: call.principal.organizationId,
    workspaceId: call.principal.workspaceId,
    keyId: call.principal.keyId,
    model,
    offer,
    attempt,
    kind,
    reason: failure?.fault.code ?? 'client_gone',
    status: reply?.status,
    upstreamRequestId: REQUEST_ID_HEADERS.map(name => reply?.headers[name]).find(id => typeof id === 'string'),
    possibleUsage: kind === 'uncertain' ? call.work.estimate(model.limits) : undefined,
  })
}

/** Who gave up (the client, or a gateway that shuts down) does not know how far the upstream was. */
function kindOf(failure: Failure | undefined, reply: Reply | undefined): FailureKind {
  if (!failure) return 'uncertain'
  const isRefused = reply !== undefined && reply.status >= 400
  return failure.kind === 'final' && !isRefused ? 'uncertain' : failure.kind
}

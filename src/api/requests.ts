import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { type AnyRoute, defineRoute, type Inbound, sendJson } from '#http/inbound/route.ts'
import type { Manager } from '#tenants/principal.ts'
import { admitCaller, type CallerDeps } from './caller.ts'
import { credentialOf } from './credential.ts'

export interface RequestDeps extends CallerDeps {
  /** The caller of a management token, within its limits. */
  admitManager(request: Inbound): Promise<Manager>
  /** How a request of the owner's went; `undefined` when there is none. */
  explain(requestId: string, owner: Owner): Promise<Record<string, unknown> | undefined>
}

type Owner = { readonly kind: 'key' | 'workspace'; readonly id: string }

const nullable = (schema: Parameters<typeof Type.Union>[0][number]) => Type.Union([schema, Type.Null()])

const Attempt = Type.Object(
  {
    attempt: Type.Integer({ description: '0 is the first' }),
    outcome: Type.String({ description: '`failed`, or the outcome of the request' }),
    access_channel: nullable(Type.Enum(['platform', 'byok'])),
    channel: Type.Optional(Type.String({ description: 'Of own provider keys, or where the operator shows routing' })),
    failed_at: Type.Optional(Type.String({ format: 'date-time' })),
    duration_ms: Type.Optional(nullable(Type.Integer())),
    error: Type.Optional(Type.Object({ code: Type.String(), status: nullable(Type.Integer()) })),
    may_be_billed: Type.Optional(Type.Boolean({ description: 'The provider may have done the work all the same' })),
  },
  { additionalProperties: false },
)

const Explanation = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('request'),
    model: Type.String(),
    outcome: Type.String({ description: '`completed`, `cut`, `client_gone`, `stopped`, `cached` or `failed`' }),
    delivery_tier: Type.Optional(Type.String()),
    attempts: Type.Array(Attempt),
    timings: Type.Optional(
      Type.Object({ first_output_ms: nullable(Type.Integer()), duration_ms: nullable(Type.Integer()) }),
    ),
    cost: Type.Number(),
    cost_decimal: Type.String(),
  },
  { additionalProperties: true },
)

/** `GET /v1/requests/{id}`: how a request went, for its key or for a management token of its workspace. */
export function requests(deps: RequestDeps): AnyRoute {
  return defineRoute<Owner>({
    method: 'GET',
    path: '/v1/requests/:requestId',
    bodyBytesMax: 0,
    authorize: request => ownerOf(deps, request),
    handle: async ({ params: { requestId = '' }, sink }, owner) => {
      const explanation = await deps.explain(requestId, owner)
      if (!explanation) throw unknownRequest(requestId)
      sendJson(sink, 200, explanation)
    },
    docs: {
      tag: 'Requests',
      summary: 'What became of a request: attempts, timings, tier, price and usage',
      security: 'api-key',
      response: Explanation,
      errors: [401, 404, 429, 503],
    },
  })
}

async function ownerOf(deps: RequestDeps, request: Inbound): Promise<Owner> {
  const credential = credentialOf(request)
  if (credential?.startsWith('mt-')) {
    const { workspaceId } = await deps.admitManager(request)
    return { kind: 'workspace', id: workspaceId }
  }
  const { keyId } = await admitCaller(deps, request, credential)
  return { kind: 'key', id: keyId }
}

const SHOWN_CHARACTERS_MAX = 100

function unknownRequest(requestId: string): Fault {
  return new Fault('not_found', `There is no request "${requestId.slice(0, SHOWN_CHARACTERS_MAX)}" of this caller.`, {
    hint: 'A request is known a moment after its answer, if it got as far as a provider; its id is the header x-request-id.',
  })
}

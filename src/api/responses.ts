import { Type } from 'typebox'
import type { Work } from '#core/work.ts'
import type { AnyRoute, Inbound } from '#http/inbound/route.ts'
import { newId } from '#lib/ids.ts'
import type { StoredResponses } from '#stored-responses/stored-responses.ts'
import type { Principal } from '#tenants/principal.ts'
import { chatWork } from '#wire/chat.ts'
import { parseJsonObject } from '#wire/json/parse.ts'
import { validateRequest } from '#wire/responses/decode-request.ts'
import { responses as format } from '#wire/responses/index.ts'
import { keptResponse } from '#wire/responses/kept-response.ts'
import { ResponsesRequest, ResponsesResponse } from '#wire/responses/schema.ts'
import { pointersOf, referencesIn, selfContained } from '#wire/responses/self-contained.ts'
import { tokenCountWork } from '#wire/token-count.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'
import type { StoredResponsesDeps } from './stored-responses.ts'

type ResponsesDeps = ApiDeps & StoredResponsesDeps

export function responseTokens(deps: ResponsesDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/responses/input_tokens',
    work: async ({ body }, { workspaceId }) => {
      const { whole } = await readRequest(deps.storedResponses, workspaceId, body)
      return tokenCountWork(format, whole)
    },
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Count the input tokens of a response',
      body: Type.Omit(ResponsesRequest, ['stream']),
      response: Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer() }),
    },
  })
}

export function responses(deps: ResponsesDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/responses',
    work: (request, principal) => responsesWork(deps.storedResponses, request, principal),
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Create a response',
      body: ResponsesRequest,
      response: ResponsesResponse,
      isStreamable: true,
    },
  })
}

/** Nothing is kept upstream: what the client goes on from is put into the request, and the answer is kept here. */
async function responsesWork(
  stored: StoredResponses,
  { id: requestId, body: bytes }: Inbound,
  { workspaceId }: Principal,
): Promise<Work> {
  const { request, whole } = await readRequest(stored, workspaceId, bytes)
  const isKept = request.store !== false
  const responseId = newId('resp')
  const previousResponseId = request.previous_response_id ?? undefined
  const work = chatWork(format, whole, {
    stated: { id: responseId, store: isKept, previous_response_id: previousResponseId ?? null },
    ...(whole === bytes && { parsed: request }),
  })
  if (!isKept) return whole === bytes ? work : { ...work, identity: undefined }
  const keep = (lastBytes: Uint8Array) =>
    stored.keep(requestId, () => {
      const kept = keptResponse(request, responseId, lastBytes)
      return kept && { workspaceId, responseId, previousResponseId, model: work.model, ...kept }
    })
  // Each stored response is one of its own, and what it goes on from may be deleted.
  return { ...work, identity: undefined, beforeEnd: keep }
}

/** @returns the request as it came, and the bytes of one that means the same without pointing to what is stored */
async function readRequest(
  stored: StoredResponses,
  workspaceId: string,
  bytes: Buffer,
): Promise<{ request: ResponsesRequest & Record<string, unknown>; whole: Buffer }> {
  const request = parseJsonObject(bytes)
  validateRequest(request)
  const { previousResponseId, references } = pointersOf(request)
  if (previousResponseId === undefined && references.length === 0) return { request, whole: bytes }
  const history = previousResponseId === undefined ? [] : await stored.history(workspaceId, previousResponseId)
  const items = await stored.items(workspaceId, [...referencesIn(history), ...references])
  return { request, whole: selfContained(bytes, request, { history, items }) }
}

import type { AnyRoute } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { responses as format } from '#wire/responses/index.ts'
import { ResponsesRequest, ResponsesResponse } from '#wire/responses/schema.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

export function responses(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/responses',
    work: ({ body }) => chatWork(format, body),
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

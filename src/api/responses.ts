import { Type } from 'typebox'
import type { AnyRoute } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { responses as format } from '#wire/responses/index.ts'
import { ResponsesRequest, ResponsesResponse } from '#wire/responses/schema.ts'
import { tokenCountWork } from '#wire/token-count.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

export function responseTokens(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/responses/input_tokens',
    work: ({ body }) => tokenCountWork(format, body),
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Count the input tokens of a response',
      body: Type.Omit(ResponsesRequest, ['stream']),
      response: Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer() }),
    },
  })
}

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

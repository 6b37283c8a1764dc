import type { AnyRoute } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { chatCompletions as format } from '#wire/chat-completions/index.ts'
import { ChatCompletionsRequest, ChatCompletionsResponse } from '#wire/chat-completions/schema.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

export function chatCompletions(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/chat/completions',
    work: ({ body }) => chatWork(format, body),
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Create a chat completion',
      body: ChatCompletionsRequest,
      response: ChatCompletionsResponse,
      isStreamable: true,
    },
  })
}

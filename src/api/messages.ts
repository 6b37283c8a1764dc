import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { anthropicRateHeaders } from '#http/inbound/rate-headers.ts'
import type { AnyRoute, Inbound } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { messages as format } from '#wire/messages/index.ts'
import { MessagesRequest, MessagesResponse } from '#wire/messages/schema.ts'
import { tokenCountWork } from '#wire/token-count.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

export function messages(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/messages',
    work: request => chatWork(format, request.body, { headers: upstreamHeaders(request) }),
    spellRate: anthropicRateHeaders,
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Create a message',
      body: MessagesRequest,
      response: MessagesResponse,
      isStreamable: true,
    },
  })
}

export function messageTokens(deps: ApiDeps): AnyRoute {
  return inferenceRoute(deps, {
    path: '/v1/messages/count_tokens',
    work: request => tokenCountWork(format, request.body, { headers: upstreamHeaders(request) }),
    spellRate: anthropicRateHeaders,
    encodeFault: format.encodeFault,
    docs: {
      tag: 'Chat',
      summary: 'Count the tokens of a message',
      body: Type.Omit(MessagesRequest, ['max_tokens', 'stream']),
      response: Type.Object({ input_tokens: Type.Integer() }),
    },
  })
}

const DATE = /^\d{4}-\d{2}-\d{2}$/

/**
 * The version that the caller speaks and the trials that it takes part in, for an upstream of the same format. The
 * spec's names and the vendor's are both taken (design §6).
 */
function upstreamHeaders({ headers }: Inbound): Record<string, string> {
  const version = headers['compat-version'] ?? headers['anthropic-version']
  if (typeof version !== 'string' || !DATE.test(version)) {
    throw new Fault('invalid_request', 'The header `compat-version` (or `anthropic-version`) must be a date.', {
      param: 'compat-version',
      hint: 'Send `anthropic-version: 2023-06-01`.',
    })
  }
  const beta = headers['compat-beta'] ?? headers['anthropic-beta']
  return { 'anthropic-version': version, ...(typeof beta === 'string' && { 'anthropic-beta': beta }) }
}

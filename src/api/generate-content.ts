import { Fault } from '#core/fault.ts'
import type { Work } from '#core/work.ts'
import type { AnyRoute, Inbound } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { generateContent as format } from '#wire/generate-content/index.ts'
import { GenerateContentRequest, GenerateContentResponse } from '#wire/generate-content/schema.ts'
import { nativeCredentialOf } from './credential.ts'
import { type ApiDeps, inferenceRoute } from './inference.ts'

/** The same endpoint twice: newer SDKs ask under `/v1` unless told otherwise. */
export function generateContent(deps: ApiDeps): AnyRoute[] {
  return ['/v1beta/models/*', '/v1/models/*'].map(path =>
    inferenceRoute(deps, {
      path,
      work,
      credential: nativeCredentialOf,
      encodeFault: format.encodeFault,
      docs: {
        tag: 'Chat',
        summary: 'Generate content: {model}:generateContent or {model}:streamGenerateContent',
        body: GenerateContentRequest,
        response: GenerateContentResponse,
        isStreamable: true,
      },
    }),
  )
}

/** What follows the model's id in the path. */
const IS_STREAM: ReadonlyMap<string, boolean> = new Map([
  ['generateContent', false],
  ['streamGenerateContent', true],
])

function work({ params, query, body }: Inbound): Work {
  const { model, action } = splitTarget(params['*'] ?? '')
  const stream = IS_STREAM.get(action)
  if (stream === undefined) {
    throw new Fault('not_found', `There is no action "${action.slice(0, 50)}" on models.`, {
      hint: `Use ${[...IS_STREAM.keys()].join(' or ')}.`,
    })
  }
  const isArray = stream && query.get('alt') !== 'sse'
  return chatWork(format, body, { given: { model, stream }, ...(isArray && { streamedAs: 'json-array' }) })
}

/** A model's id may hold slashes and colons: the action stands behind the last one. */
function splitTarget(target: string): { model: string; action: string } {
  const colon = target.lastIndexOf(':')
  const model = colon === -1 ? target : target.slice(0, colon)
  return { model: model.replace(/^models\//, ''), action: colon === -1 ? '' : target.slice(colon + 1) }
}

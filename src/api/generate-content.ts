import { Fault } from '#core/fault.ts'
import type { Work } from '#core/work.ts'
import type { AnyRoute, Inbound } from '#http/inbound/route.ts'
import { chatWork } from '#wire/chat.ts'
import { generateContent as format } from '#wire/generate-content/index.ts'
import { GenerateContentRequest, GenerateContentResponse } from '#wire/generate-content/schema.ts'
import { tokenCountWork } from '#wire/token-count.ts'
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
        summary: 'Generate content, streamed or not, or count its tokens: {model}:{action}',
        body: GenerateContentRequest,
        response: GenerateContentResponse,
        isStreamable: true,
      },
    }),
  )
}

type Action = (request: Inbound, model: string) => Work

/** What follows the model's id in the path. */
const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['generateContent', ({ body }, model) => chatWork(format, body, { given: { model, stream: false } })],
  [
    'streamGenerateContent',
    ({ body, query }, model) => {
      const streamedAs = query.get('alt') === 'sse' ? 'events' : 'json-array'
      return chatWork(format, body, { given: { model, stream: true }, streamedAs })
    },
  ],
  ['countTokens', ({ body }, model) => tokenCountWork(format, body, { given: { model } })],
])

function work(request: Inbound): Work {
  const { model, action } = splitTarget(request.params['*'] ?? '')
  const act = ACTIONS.get(action)
  if (act) return act(request, model)
  throw new Fault('not_found', `There is no action "${action.slice(0, 50)}" on models.`, {
    hint: `Use ${[...ACTIONS.keys()].join(', ')}.`,
  })
}

/** A model's id may hold slashes and colons: the action stands behind the last one. */
function splitTarget(target: string): { model: string; action: string } {
  const colon = target.lastIndexOf(':')
  const model = colon === -1 ? target : target.slice(0, colon)
  return { model: model.replace(/^models\//, ''), action: colon === -1 ? '' : target.slice(colon + 1) }
}

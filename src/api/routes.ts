import type { AnyRoute } from '#http/inbound/route.ts'
import { chatCompletions } from './chat-completions.ts'
import { embeddings } from './embeddings.ts'
import { generateContent } from './generate-content.ts'
import type { ApiDeps } from './inference.ts'
import { messages, messageTokens } from './messages.ts'
import { type ModelsDeps, models } from './models.ts'
import { type RequestDeps, requests } from './requests.ts'
import { responses, responseTokens } from './responses.ts'
import { type StoredResponsesDeps, storedResponses } from './stored-responses.ts'

/** The data plane, whole. */
export function apiRoutes(deps: ApiDeps & ModelsDeps & StoredResponsesDeps & RequestDeps): AnyRoute[] {
  return [
    chatCompletions(deps),
    messages(deps),
    messageTokens(deps),
    responses(deps),
    responseTokens(deps),
    ...storedResponses(deps),
    ...generateContent(deps),
    embeddings(deps),
    ...models(deps),
    requests(deps),
  ]
}

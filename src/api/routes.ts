import type { AnyRoute } from '#http/inbound/route.ts'
import { chatCompletions } from './chat-completions.ts'
import { embeddings } from './embeddings.ts'
import { generateContent } from './generate-content.ts'
import type { ApiDeps } from './inference.ts'
import { messages, messageTokens } from './messages.ts'
import { type ModelsDeps, models } from './models.ts'
import { responses, responseTokens } from './responses.ts'

/** The data plane, whole. */
export function apiRoutes(deps: ApiDeps & ModelsDeps): AnyRoute[] {
  return [
    chatCompletions(deps),
    messages(deps),
    messageTokens(deps),
    responses(deps),
    responseTokens(deps),
    ...generateContent(deps),
    embeddings(deps),
    ...models(deps),
  ]
}

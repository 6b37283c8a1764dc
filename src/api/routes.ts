import type { AnyRoute } from '#http/inbound/route.ts'
import { chatCompletions } from './chat-completions.ts'
import { embeddings } from './embeddings.ts'
import type { ApiDeps } from './inference.ts'
import { type ModelsDeps, models } from './models.ts'

/** The data plane, whole. */
export function apiRoutes(deps: ApiDeps & ModelsDeps): AnyRoute[] {
  return [chatCompletions(deps), embeddings(deps), ...models(deps)]
}

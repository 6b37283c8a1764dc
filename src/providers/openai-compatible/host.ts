import type { Operation } from '#core/work.ts'
import type { Endpoint, Provider } from '../provider.ts'

/** Paths and formats that hosts have from OpenAI. */
const ENDPOINTS = Object.freeze({
  chat: { format: 'chat-completions', path: '/chat/completions' },
  responses: { format: 'responses', path: '/responses' },
  embeddings: { format: 'embeddings', path: '/embeddings' },
} satisfies Record<string, Endpoint>)

/** What a host has of OpenAI's API, and where it differs. */
export interface Host extends Pick<Provider, 'name' | 'baseUrl' | 'quirks' | 'modelQuirks'> {
  readonly serves: readonly (keyof typeof ENDPOINTS)[]
  /** Where its list of models, which every host of this kind was to have, is not what tells a good key from a bad one. */
  readonly probePath?: string
}

/** A host that speaks OpenAI's API, as a provider. Servers on one's own machine take no key, so none is demanded. */
export function host({ name, baseUrl, quirks, modelQuirks, serves, probePath = '/models' }: Host): Provider {
  return Object.freeze({
    name,
    baseUrl,
    auth: (apiKey: string | undefined) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    probePath,
    operations: Object.freeze(operationsOf(serves)),
    ...(quirks && { quirks: Object.freeze(quirks) }),
    ...(modelQuirks && { modelQuirks: Object.freeze(modelQuirks) }),
  })
}

function operationsOf(serves: Host['serves']): Provider['operations'] {
  const operations: Partial<Record<Operation, Endpoint[]>> = {}
  for (const name of serves) {
    const operation = name === 'embeddings' ? 'embeddings' : 'chat'
    operations[operation] = [...(operations[operation] ?? []), ENDPOINTS[name]]
  }
  return operations
}

import { anthropic } from './anthropic/index.ts'
import { azureOpenai } from './azure-openai/index.ts'
import { bedrock } from './bedrock/index.ts'
import { cohere } from './cohere/index.ts'
import { google } from './google/index.ts'
import { openai } from './openai/index.ts'
import { OPENAI_COMPATIBLE } from './openai-compatible/index.ts'
import type { Provider } from './provider.ts'
import { vertex } from './vertex/index.ts'

/** Every provider by the name that a channel's `provider` gives. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  [openai, anthropic, google, azureOpenai, bedrock, vertex, cohere, ...OPENAI_COMPATIBLE].map(provider => [
    provider.name,
    provider,
  ]),
)

/**
 * Those that customers can reach with a key of their own and nothing else. A host that is found on the operator's
 * machines unless told otherwise is not for them.
 */
export const KEYED_PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  [...PROVIDERS].filter(([, { baseUrl }]) => typeof baseUrl === 'string' && baseUrl.startsWith('https://')),
)

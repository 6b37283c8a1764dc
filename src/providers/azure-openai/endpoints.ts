import type { Endpoint } from '../provider.ts'
import type { AzureSettings } from './settings.ts'

/**
 * The v1 API names a deployment in the body, as a model, and follows OpenAI's own without dates; the dated one names
 * it in the address (Azure OpenAI reference, "API version lifecycle").
 */
function path(operation: string): (settings: AzureSettings) => string {
  return ({ api_version: version }) =>
    version === undefined ? `/openai/v1${operation}` : `/openai/deployments/{model}${operation}?api-version=${version}`
}

export const chat: Endpoint = Object.freeze({ format: 'chat-completions', path: path('/chat/completions') })

export const embeddings: Endpoint = Object.freeze({ format: 'embeddings', path: path('/embeddings') })

/** Only the v1 API has it for every region and model that OpenAI's has. */
export const responses: Endpoint = Object.freeze({
  format: 'responses',
  path: ({ api_version: version }: AzureSettings) => (version === undefined ? '/openai/v1/responses' : undefined),
})

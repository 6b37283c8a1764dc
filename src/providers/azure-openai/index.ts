import type { Provider } from '../provider.ts'
import { auth } from './auth.ts'
import { chat, embeddings, responses } from './endpoints.ts'
import { type AzureSettings, check, settings } from './settings.ts'

/** Azure OpenAI in Microsoft Foundry. A model's upstream id is the name of its deployment. */
export const azureOpenai: Provider = Object.freeze({
  name: 'azure-openai',
  baseUrl: ({ resource }: AzureSettings) => `https://${resource}.openai.azure.com`,
  settings,
  check,
  auth,
  probePath: ({ api_version: version }: AzureSettings) =>
    version === undefined ? '/openai/v1/models' : `/openai/models?api-version=${version}`,
  operations: Object.freeze({ chat: [chat, responses], embeddings: [embeddings] }),
})

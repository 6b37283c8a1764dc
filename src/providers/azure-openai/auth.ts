import { accessToken, requestToken } from '../access-token.ts'
import type { Authorization, CredentialWatcher } from '../provider.ts'
import type { AzureSettings } from './settings.ts'

const AUTHORITY = 'https://login.microsoftonline.com'
/** What the role "Cognitive Services OpenAI User" is given for. */
const SCOPE = 'https://cognitiveservices.azure.com/.default'

/** A key of the resource, or an application of Entra ID (Microsoft identity platform, "client credentials flow"). */
export function auth(apiKey: string | undefined, { entra }: AzureSettings, watcher: CredentialWatcher): Authorization {
  if (!entra) return apiKey === undefined ? {} : { 'api-key': apiKey }
  const { authority = AUTHORITY, tenant_id: tenant, scope = SCOPE } = entra
  const url = `${authority.replace(/\/+$/, '')}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
  const { client_id, client_secret } = entra
  return accessToken(
    () => requestToken(url, { grant_type: 'client_credentials', client_id, client_secret, scope }),
    watcher,
  )
}

import { type Expiring, Renewed } from '#lib/renewed.ts'
import type { Authorization, CredentialWatcher, Headers, UnauthorizedRequest } from '../provider.ts'
import type { BedrockSettings } from './settings.ts'
import { type AwsCredentials, signatureV4 } from './signature-v4.ts'

type AwsSettings = BedrockSettings['aws']

/** An API key is a bearer token; whoever has none signs each request with the credentials of an AWS identity. */
export function auth(apiKey: string | undefined, { aws }: BedrockSettings, watcher: CredentialWatcher): Authorization {
  if (apiKey !== undefined) return { authorization: `Bearer ${apiKey}` }
  const sign = (request: UnauthorizedRequest, credentials: AwsCredentials) =>
    signatureV4({ ...request, headers: signedHeaders(request) }, credentials, scopeOf(aws), new Date())
  const fixed = fixedCredentials(aws)
  if (fixed) return request => sign(request, fixed)
  const credentials = new Renewed({ fetch: () => fetchCredentials(aws), onFailure: watcher.failed })
  return request => {
    const value = credentials.get()
    return value instanceof Promise ? value.then(fetched => sign(request, fetched)) : sign(request, value)
  }
}

function scopeOf({ region }: AwsSettings): { readonly region: string; readonly service: string } {
  return { region, service: 'bedrock' }
}

/** What says how the body is read; proxies on the way may change any other. */
function signedHeaders({ headers }: UnauthorizedRequest): Headers {
  const type = headers['content-type']
  return type === undefined ? {} : { 'content-type': type }
}

function fixedCredentials(aws: AwsSettings): AwsCredentials | undefined {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken } = aws
  return accessKeyId === undefined || secretAccessKey === undefined
    ? undefined
    : { accessKeyId, secretAccessKey, sessionToken }
}

/**
 * As AWS's own tools find them: environment, configuration files with their profiles and roles, web identity, the
 * metadata of the container or the machine. Loaded when first needed, because most gateways never do.
 */
async function fetchCredentials({ profile, region }: AwsSettings): Promise<Expiring<AwsCredentials>> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  const chain = defaultProvider({ clientConfig: { region }, ...(profile !== undefined && { profile }) })
  const { expiration, ...value } = await chain()
  return { value, expiresAtMs: expiration?.getTime() ?? Number.POSITIVE_INFINITY }
}

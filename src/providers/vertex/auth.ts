import { createSign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fetchJson } from '#http/outbound/fetch-json.ts'
import type { Expiring } from '#lib/renewed.ts'
import { accessToken, readToken, requestToken } from '../access-token.ts'
import type { Authorization, CredentialWatcher } from '../provider.ts'
import type { VertexSettings } from './settings.ts'

type ServiceAccount = NonNullable<VertexSettings['service_account']>

/** A key of express mode, or the token of a service account. */
export function auth(
  apiKey: string | undefined,
  { service_account: account = {} }: VertexSettings,
  watcher: CredentialWatcher,
): Authorization {
  if (apiKey !== undefined) return { 'x-goog-api-key': apiKey }
  return accessToken(() => fetchToken(account), watcher)
}

const METADATA_URL = 'http://metadata.google.internal'

async function fetchToken({ file, json, metadata_url }: ServiceAccount): Promise<Expiring<string>> {
  const text = file === undefined ? json : await readFile(file, 'utf8')
  return text === undefined ? askMetadata(metadata_url ?? METADATA_URL) : exchangeKey(readKey(text))
}

/** Google Cloud, "About VM metadata": the account that a machine or a container of Google's runs as. */
async function askMetadata(base: string): Promise<Expiring<string>> {
  const url = `${base.replace(/\/+$/, '')}/computeMetadata/v1/instance/service-accounts/default/token`
  return readToken(url, await fetchJson(url, { headers: { 'metadata-flavor': 'Google' } }))
}

interface AccountKey {
  readonly client_email: string
  readonly private_key: string
  readonly private_key_id?: string
  readonly token_uri?: string
}

function readKey(text: string): AccountKey {
  const key = JSON.parse(text) as Partial<AccountKey>
  if (typeof key.client_email === 'string' && typeof key.private_key === 'string') return key as AccountKey
  throw new Error('the key of the service account lacks client_email or private_key')
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The most that Google takes. */
const ASSERTION_SECONDS = 3600

/** Google identity, "Using OAuth 2.0 for server to server applications". */
async function exchangeKey(key: AccountKey): Promise<Expiring<string>> {
  const url = key.token_uri ?? TOKEN_URL
  const issuedAt = Math.floor(Date.now() / 1000)
  const claims = { iss: key.client_email, scope: SCOPE, aud: url, iat: issuedAt, exp: issuedAt + ASSERTION_SECONDS }
  return requestToken(url, { grant_type: GRANT_TYPE, assertion: signJwt(claims, key) })
}

function signJwt(claims: Readonly<Record<string, unknown>>, { private_key, private_key_id }: AccountKey): string {
  const head = { alg: 'RS256', typ: 'JWT', kid: private_key_id }
  const signed = [head, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${createSign('sha256').update(signed).sign(private_key, 'base64url')}`
}

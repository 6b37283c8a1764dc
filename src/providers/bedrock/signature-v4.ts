import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Headers, UnauthorizedRequest } from '../provider.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of credentials that expire. */
  readonly sessionToken?: string | undefined
}

export interface SigningScope {
  readonly region: string
  readonly service: string
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/**
 * Signs a request with its host and all the headers given (AWS Signature Version 4, "Create a signed request").
 *
 * @returns the headers to add
 */
export function signatureV4(
  { method, url, headers, body = NOTHING }: UnauthorizedRequest,
  credentials: AwsCredentials,
  { region, service }: SigningScope,
  at: Date,
): Headers {
  const timestamp = at.toISOString().replace(/[-:]|\.\d+/g, '')
  const { accessKeyId, sessionToken } = credentials
  const added = { 'x-amz-date': timestamp, ...(sessionToken && { 'x-amz-security-token': sessionToken }) }
  const signed = canonicalHeaders({ host: url.host, ...headers, ...added })
  const names = signed.map(([name]) => name).join(';')
  const canonical = [
    method,
    canonicalPath(url),
    canonicalQuery(url),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const scope = `${timestamp.slice(0, 8)}/${region}/${service}/aws4_request`
  const key = signingKey(credentials, scope)
  const signature = hmac(key, [ALGORITHM, timestamp, scope, sha256(canonical)].join('\n')).toString('hex')
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...added, authorization }
}

const NOTHING = new Uint8Array()

/** Deriving a key costs four times as much as signing with it, and it is good for a day. */
const signingKeys = new WeakMap<AwsCredentials, { readonly scope: string; readonly key: KeyObject }>()

function signingKey(credentials: AwsCredentials, scope: string): KeyObject {
  const known = signingKeys.get(credentials)
  if (known?.scope === scope) return known.key
  const secret = `AWS4${credentials.secretAccessKey}`
  const key = createSecretKey(scope.split('/').reduce<Buffer>(hmac, Buffer.from(secret)))
  signingKeys.set(credentials, { scope, key })
  return key
}

function hmac(key: Buffer | KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

function canonicalHeaders(headers: Headers): [name: string, value: string][] {
  return Object.entries(headers)
    .map(([name, value]): [string, string] => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')])
    .toSorted(([a], [b]) => compare(a, b))
}

/** Of every service but S3, each segment is encoded once more than it is sent: a sent `%3A` is signed as `%253A`. */
function canonicalPath({ pathname }: URL): string {
  return pathname
    .replace(/\/{2,}/g, '/')
    .split('/')
    .map(encode)
    .join('/')
}

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]): [string, string] => [encode(name), encode(value)])
    .toSorted(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(pair => pair.join('='))
    .join('&')
}

/** RFC 3986, which reserves five characters that JavaScript's encoding leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** By code point: a locale would sort otherwise. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

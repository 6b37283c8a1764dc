import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'

export const AZURE = { key: 'azure-secret-key', tenant: 'tenant-1', client: 'client-1', secret: 'entra-secret' }
export const AWS = { region: 'eu-central-1', keyId: 'AKIDEXAMPLE', secret: 'aws-secret', apiKey: 'bedrock-secret-key' }
export const GOOGLE = { project: 'project-1', account: 'gateway@project-1.iam.gserviceaccount.com' }

export interface DoorRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer
}

type Handler = (request: DoorRequest, response: http.ServerResponse) => void | Promise<void>

/**
 * What stands before the models of three clouds: it gives out tokens for credentials, lets in whoever presents a good
 * one, and refuses all others as the cloud does. Signatures are checked by AWS's own implementation, assertions by
 * Node's cryptography.
 */
export class CloudDoor {
  readonly #server: http.Server
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  readonly #tokens = new Set<string>()
  readonly seen: DoorRequest[] = []
  /** How often a token was asked for, at whichever desk. */
  tokenRequests = 0
  /** What a token is good for. */
  tokenSeconds = 3600
  /** Answered in place of a token. */
  tokenRefusal: { readonly status: number; readonly body: unknown } | undefined
  /** Answers who was let in. */
  inside: Handler

  private constructor(inside: Handler) {
    this.inside = inside
    this.#server = http.createServer((request, response) => void this.#serve(request, response))
  }

  static async open(inside: Handler): Promise<CloudDoor> {
    const door = new CloudDoor(inside)
    await new Promise<void>(resolve => door.#server.listen(0, '127.0.0.1', resolve))
    return door
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** A key file as Google gives it out, for the desk of this door. */
  get serviceAccount(): string {
    return JSON.stringify({
      type: 'service_account',
      project_id: GOOGLE.project,
      private_key_id: 'key-1',
      private_key: this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: GOOGLE.account,
      token_uri: `${this.url}/google/token`,
    })
  }

  /** No token that was given out is good any more. */
  revokeTokens(): void {
    this.#tokens.clear()
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const { method = '', url: path = '' } = incoming
    const request = { method, path, headers: incoming.headers as Record<string, string>, body: Buffer.concat(chunks) }
    const desk = DESKS.find(([pattern]) => pattern.test(path))
    if (desk) return this.#giveToken(desk[1](request, this.#keys.publicKey), response)
    this.seen.push(request)
    const problem = await this.#problemOf(request)
    if (problem === undefined) return this.inside(request, response)
    answer(response, problem.status, problem.body)
  }

  #giveToken(isGood: boolean, response: http.ServerResponse): void {
    this.tokenRequests += 1
    const refusal = isGood ? this.tokenRefusal : { status: 401, body: { error: 'invalid_client' } }
    if (refusal) return answer(response, refusal.status, refusal.body)
    const token = `token-${this.tokenRequests}`
    this.#tokens.add(token)
    answer(response, 200, { access_token: token, token_type: 'Bearer', expires_in: this.tokenSeconds })
  }

  /** @returns how the cloud that is asked refuses the request; `undefined` when it does not */
  async #problemOf(request: DoorRequest): Promise<{ status: number; body: unknown } | undefined> {
    const { path, headers } = request
    const bearer = headers.authorization?.startsWith('Bearer ') ? headers.authorization.slice(7) : undefined
    const hasToken = bearer !== undefined && this.#tokens.has(bearer)
    if (path.startsWith('/v1/')) {
      return hasToken || headers['x-goog-api-key'] === 'express-key'
        ? undefined
        : { status: 401, body: { error: { code: 401, message: 'no valid credential', status: 'UNAUTHENTICATED' } } }
    }
    const isAws = path.startsWith('/model/') || headers.authorization?.startsWith('AWS4') || bearer === AWS.apiKey
    if (isAws) {
      return bearer === AWS.apiKey || (await isSigned(request))
        ? undefined
        : { status: 403, body: { message: 'The request signature we calculated does not match.' } }
    }
    return hasToken || headers['api-key'] === AZURE.key
      ? undefined
      : { status: 401, body: { error: { code: '401', message: 'Access denied due to invalid subscription key.' } } }
  }
}

/** Where tokens are given out, and whether a request deserves one. */
const DESKS: readonly [RegExp, (request: DoorRequest, key: KeyObject) => boolean][] = [
  [/^\/google\/token$/, isAssertion],
  [/^\/computeMetadata\/v1\/.*\/token$/, ({ headers }) => headers['metadata-flavor'] === 'Google'],
  [
    /^\/tenant-1\/oauth2\/v2\.0\/token$/,
    ({ body }) => {
      const form = new URLSearchParams(body.toString())
      const isClient = form.get('client_id') === AZURE.client && form.get('client_secret') === AZURE.secret
      return isClient && form.get('grant_type') === 'client_credentials' && /\/\.default$/.test(form.get('scope') ?? '')
    },
  ],
]

/** RFC 7523: signed by the account, about itself, for this desk, for an hour at most. */
function isAssertion({ body, headers }: DoorRequest, key: KeyObject): boolean {
  const form = new URLSearchParams(body.toString())
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const { iss, aud, scope, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const { alg, kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
  const nowSeconds = Date.now() / 1000
  return (
    form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
    alg === 'RS256' &&
    kid === 'key-1' &&
    verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url')) &&
    iss === GOOGLE.account &&
    aud === `http://${headers.host}/google/token` &&
    scope === 'https://www.googleapis.com/auth/cloud-platform' &&
    iat <= nowSeconds + 1 &&
    exp > nowSeconds &&
    exp - iat <= 3600
  )
}

async function isSigned({ method, path, headers, body }: DoorRequest): Promise<boolean> {
  const { authorization = '', 'x-amz-date': timestamp = '' } = headers
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? []
  if (!names.includes('host') || !names.includes('content-type')) return false
  const signer = new SignatureV4({
    service: 'bedrock',
    region: AWS.region,
    credentials: { accessKeyId: AWS.keyId, secretAccessKey: AWS.secret },
    sha256: Sha256,
    applyChecksum: false,
  })
  const signed = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: '127.0.0.1',
      path,
      headers: Object.fromEntries(names.map(name => [name, headers[name] ?? ''])),
      body,
    },
    { signingDate: new Date(timestamp.replace(/(....)(..)(..T..)(..)/, '$1-$2-$3:$4:')) },
  )
  return signed.headers.authorization === authorization
}

function answer(response: http.ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Sends who was let in on to `origin`, and its answer back as it comes. */
export function leadTo(origin: string): Handler {
  return ({ method, path, headers, body }, response) => {
    const url = new URL(path, origin)
    const onward = http.request(url, { method, headers: { ...headers, host: url.host } }, answered => {
      response.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(response)
    })
    onward.on('error', () => response.destroy())
    onward.end(body)
  }
}

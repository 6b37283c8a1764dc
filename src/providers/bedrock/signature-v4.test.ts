import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime'
import type { Headers } from '../provider.ts'
import { type AwsCredentials, signatureV4 } from './signature-v4.ts'

const CREDENTIALS: AwsCredentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}

/** One of AWS's published vectors ("Signature Version 4 test suite"), which all have this account, place and day. */
interface Vector {
  readonly name: string
  readonly method?: string
  readonly target?: string
  readonly headers?: Headers
  readonly body?: string
  readonly sessionToken?: string
  readonly signature: string
}

const UNRESERVED = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const FORM = 'application/x-www-form-urlencoded'

const VECTORS: readonly Vector[] = [
  { name: 'get-vanilla', signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31' },
  {
    name: 'get-header-value-trim',
    headers: { 'My-Header1': ' value1', 'My-Header2': ' "a   b   c"' },
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'get-unreserved',
    target: `/${UNRESERVED}`,
    signature: '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    target: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-vanilla-query-order-value',
    target: '/?Param1=value2&Param1=value1',
    signature: '5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694',
  },
  {
    name: 'get-vanilla-query-order-encoded',
    target: '/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1',
    signature: '371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac',
  },
  {
    name: 'get-vanilla-query-unreserved',
    target: `/?${UNRESERVED}=${UNRESERVED}`,
    signature: '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-header-value-case',
    method: 'POST',
    headers: { 'My-Header1': 'VALUE1' },
    signature: 'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  },
  {
    name: 'post-sts-header-before',
    method: 'POST',
    sessionToken:
      'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==',
    signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    headers: { 'content-type': FORM },
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
]

describe('signatureV4', () => {
  for (const { name, method = 'GET', target = '/', headers = {}, body = '', sessionToken, signature } of VECTORS) {
    it(`signs AWS's vector ${name}`, () => {
      const url = new URL(`https://example.amazonaws.com${target}`)
      const signed = signatureV4(
        { method, url, headers, body: Buffer.from(body) },
        { ...CREDENTIALS, sessionToken },
        { region: 'us-east-1', service: 'service' },
        new Date('2015-08-30T12:36:00Z'),
      )
      assert.equal(signed.authorization?.split('Signature=')[1], signature)
    })
  }

  it('signs with another key for another day, region or service', () => {
    const request = { method: 'GET', url: new URL('https://example.amazonaws.com/'), headers: {} }
    const sign = (credentials: AwsCredentials, [region, service, day]: readonly [string, string, string]) =>
      signatureV4(request, credentials, { region, service }, new Date(day)).authorization
    const places = [
      ['us-east-1', 'service', '2015-08-30T12:36:00Z'],
      ['us-east-1', 'service', '2015-08-31T12:36:00Z'],
      ['eu-west-1', 'service', '2015-08-31T12:36:00Z'],
      ['eu-west-1', 'bedrock', '2015-08-31T12:36:00Z'],
    ] as const
    for (const place of places) assert.equal(sign(CREDENTIALS, place), sign({ ...CREDENTIALS }, place))
  })

  const models = [
    'anthropic.claude-3-5-sonnet-20241022-v2:0',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3d4e5f6',
  ]
  for (const modelId of models) {
    it(`signs a request for ${modelId} as the official SDK does`, async () => {
      const sent = await signedBySdk(modelId, { ...CREDENTIALS, sessionToken: 'session' })
      const { authorization, 'x-amz-date': timestamp = '', 'x-amz-security-token': _token, ...rest } = sent.headers
      const names = /SignedHeaders=([^,]+)/.exec(authorization ?? '')?.[1]?.split(';') ?? []
      const headers = Object.fromEntries(Object.entries(rest).filter(([name]) => names.includes(name)))
      const url = new URL(`https://${sent.headers.host}${sent.path}`)
      assert.equal(url.pathname, `/model/${encodeURIComponent(modelId)}/invoke`)
      const at = new Date(timestamp.replace(/(....)(..)(..T..)(..)/, '$1-$2-$3:$4:'))
      const signed = signatureV4(
        { method: sent.method, url, headers, body: sent.body },
        { ...CREDENTIALS, sessionToken: 'session' },
        { region: 'eu-central-1', service: 'bedrock' },
        at,
      )
      assert.deepEqual(signed, {
        authorization,
        'x-amz-date': timestamp,
        'x-amz-security-token': 'session',
      })
    })
  }
})

interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
}

/** What the SDK would send. */
async function signedBySdk(modelId: string, credentials: AwsCredentials): Promise<SentRequest> {
  const sent = Promise.withResolvers<SentRequest>()
  const client = new BedrockRuntimeClient({
    region: 'eu-central-1',
    credentials: credentials as never,
    maxAttempts: 1,
    requestHandler: {
      handle: (request: SentRequest) => {
        sent.resolve(request)
        return Promise.reject(new Error('seen'))
      },
    } as never,
  })
  const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 5, messages: [] })
  await assert.rejects(client.send(new InvokeModelCommand({ modelId, contentType: 'application/json', body })), /seen/)
  return sent.promise
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FaultCode } from '#core/fault.ts'
import type { UpstreamMeaning } from '#core/upstream-meaning.ts'
import type { FormatName } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'
import { tryParse } from './json/parse.ts'
import { passableText } from './passable-text.ts'

/** What upstreams answer, as their vendors document it, what that means, and what the client is told. */
type Row = readonly [status: number, body: unknown, means: UpstreamMeaning, code: FaultCode]

const openai = (type: string, code: string | null, message = 'Words.') => ({
  error: { message, type, param: null, code },
})
const anthropic = (type: string, message = 'Words.') => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_1',
})
const google = (code: number, status: string, message = 'Words.', details: unknown[] = []) => ({
  error: { code, status, message, details },
})

const TOO_LONG =
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens."

const OPENAI: readonly Row[] = [
  [400, openai('invalid_request_error', 'invalid_value'), 'invalid', 'invalid_request'],
  [400, openai('invalid_request_error', 'context_length_exceeded', TOO_LONG), 'too-long', 'context_length_exceeded'],
  [400, openai('invalid_request_error', null, TOO_LONG), 'too-long', 'context_length_exceeded'],
  [400, openai('invalid_request_error', 'model_not_found'), 'unknown-model', 'upstream_error'],
  [401, openai('invalid_request_error', 'invalid_api_key'), 'refused', 'upstream_error'],
  [403, openai('invalid_request_error', 'unsupported_country_region_territory'), 'forbidden', 'upstream_error'],
  [404, openai('invalid_request_error', 'model_not_found'), 'unknown-model', 'upstream_error'],
  [413, openai('invalid_request_error', null), 'too-large', 'payload_too_large'],
  [422, { detail: [{ loc: ['body', 'n'], msg: 'bad' }] }, 'invalid', 'invalid_request'],
  [429, openai('requests', 'rate_limit_exceeded'), 'limited', 'all_channels_failed'],
  [429, openai('insufficient_quota', 'insufficient_quota'), 'unpaid', 'all_channels_failed'],
  [500, openai('server_error', null), 'failed', 'upstream_error'],
  [503, openai('service_unavailable', 'slow_down'), 'busy', 'all_channels_failed'],
  // Inside a good answer: the status is what the code says, where it says one.
  [200, { error: { code: 429, message: 'Words.' } }, 'limited', 'all_channels_failed'],
  [200, { error: { code: 502, message: 'Words.' } }, 'failed', 'upstream_error'],
  [200, openai('requests', 'rate_limit_exceeded'), 'limited', 'all_channels_failed'],
  [200, openai('server_error', null), 'failed', 'upstream_error'],
  // xAI, Mistral
  [400, { code: 'Client specified an invalid argument', error: 'Words.' }, 'invalid', 'invalid_request'],
  [400, { object: 'error', message: 'Words.', type: 'invalid_request_error' }, 'invalid', 'invalid_request'],
]

const TABLES: Readonly<Record<FormatName, readonly Row[]>> = {
  'chat-completions': OPENAI,
  responses: OPENAI,
  messages: [
    [400, anthropic('invalid_request_error'), 'invalid', 'invalid_request'],
    [
      400,
      anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      'too-long',
      'context_length_exceeded',
    ],
    [
      400,
      anthropic('invalid_request_error', 'Your credit balance is too low to access the API.'),
      'unpaid',
      'all_channels_failed',
    ],
    [401, anthropic('authentication_error'), 'refused', 'upstream_error'],
    [402, anthropic('billing_error'), 'unpaid', 'all_channels_failed'],
    [403, anthropic('permission_error'), 'forbidden', 'upstream_error'],
    [404, anthropic('not_found_error'), 'unknown-model', 'upstream_error'],
    [413, anthropic('request_too_large'), 'too-large', 'payload_too_large'],
    [429, anthropic('rate_limit_error'), 'limited', 'all_channels_failed'],
    [500, anthropic('api_error'), 'failed', 'upstream_error'],
    [504, anthropic('timeout_error'), 'slow', 'timeout_error'],
    [529, anthropic('overloaded_error'), 'busy', 'all_channels_failed'],
    [200, anthropic('overloaded_error'), 'busy', 'all_channels_failed'],
    [200, anthropic('rate_limit_error'), 'limited', 'all_channels_failed'],
    [200, anthropic('api_error'), 'failed', 'upstream_error'],
  ],
  'generate-content': [
    [400, google(400, 'INVALID_ARGUMENT'), 'invalid', 'invalid_request'],
    [
      400,
      google(400, 'INVALID_ARGUMENT', 'API key not valid.', [{ reason: 'API_KEY_INVALID' }]),
      'refused',
      'upstream_error',
    ],
    [400, google(400, 'FAILED_PRECONDITION', 'User location is not supported.'), 'refused', 'upstream_error'],
    [
      400,
      google(400, 'INVALID_ARGUMENT', 'The input token count (2) exceeds the maximum number of tokens allowed (1).'),
      'too-long',
      'context_length_exceeded',
    ],
    [401, google(401, 'UNAUTHENTICATED'), 'refused', 'upstream_error'],
    [403, google(403, 'PERMISSION_DENIED'), 'forbidden', 'upstream_error'],
    [404, google(404, 'NOT_FOUND'), 'unknown-model', 'upstream_error'],
    [429, google(429, 'RESOURCE_EXHAUSTED'), 'limited', 'all_channels_failed'],
    [500, google(500, 'INTERNAL'), 'failed', 'upstream_error'],
    [503, google(503, 'UNAVAILABLE'), 'busy', 'all_channels_failed'],
    [504, google(504, 'DEADLINE_EXCEEDED'), 'slow', 'timeout_error'],
    [200, google(503, 'UNAVAILABLE'), 'busy', 'all_channels_failed'],
    [200, [google(429, 'RESOURCE_EXHAUSTED')], 'limited', 'all_channels_failed'],
  ],
}

/** What is no error of any format: pages of proxies, nothing, nonsense. */
const FOREIGN: readonly string[] = [
  '',
  '<html><body>502 Bad Gateway at 10.0.0.7</body></html>',
  'null',
  '[]',
  '{}',
  '{"error":null}',
  '{"error":7}',
  '{"error":{"message":{}}}',
  '"x"',
  '\u0000\u0001',
]

for (const [name, table] of Object.entries(TABLES) as [FormatName, readonly Row[]][]) {
  const decode = (status: number, body: unknown) => {
    const fault = CHAT_FORMATS.get(name)?.decodeFault(status, body)
    assert.ok(fault)
    return fault
  }

  describe(`an error of an upstream, ${name}`, () => {
    for (const [status, body, means, code] of table) {
      it(`${status} ${JSON.stringify(body).slice(0, 100)} is ${means}`, () => {
        const fault = decode(status, body)
        assert.deepEqual([fault.upstream, fault.code], [means, code])
      })
    }

    it('is quoted where it speaks of the request, and only there', () => {
      for (const [status, body, means] of table) {
        const isQuoted = ['invalid', 'too-long', 'too-large'].includes(means)
        if (JSON.stringify(body).includes('Words.')) {
          assert.equal(decode(status, body).message === 'Words.', isQuoted, JSON.stringify(body))
        }
      }
    })

    it('that is none of the format is what its status says, and never quoted', () => {
      const expected: readonly (readonly [number, FaultCode])[] = [
        [400, 'invalid_request'],
        [401, 'upstream_error'],
        [429, 'all_channels_failed'],
        [502, 'upstream_error'],
        [503, 'all_channels_failed'],
        [504, 'timeout_error'],
        [200, 'upstream_error'],
        [302, 'upstream_error'],
        [600, 'upstream_error'],
      ]
      for (const text of FOREIGN) {
        for (const [status, code] of expected) {
          const fault = decode(status, tryParse(Buffer.from(text)))
          assert.equal(fault.code, code, `${status} ${text}`)
          assert.ok(!fault.message.includes('10.0.0.7'))
        }
      }
    })
  })
}

it('the time to come back stands in the body where the format has it there', () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '29.4s' }]
  const fault = CHAT_FORMATS.get('generate-content')?.decodeFault(429, google(429, 'RESOURCE_EXHAUSTED', '', details))
  assert.equal(fault?.hints.retryAfterSeconds, 30)
})

describe('the words of an upstream that are passed on', () => {
  const cases: readonly (readonly [said: string, passed: string])[] = [
    ['Bananas are not supported with this model.', 'Bananas are not supported with this model.'],
    ['prompt is too long: 210000 tokens > 200000 maximum', 'prompt is too long: 210000 tokens > 200000 maximum'],
    ['messages.3.content.0.text.cache_control: not allowed', 'messages.3.content.0.text.cache_control: not allowed'],
    ['`max_tokens` must be at most 8192.', '`max_tokens` must be at most 8192.'],
    ['Invalid schema at response_format.json_schema.name', 'Invalid schema at response_format.json_schema.name'],
    ['The user-provided perplexity is not allowed.', 'The user-provided perplexity is not allowed.'],
    ['Bad key sk-abcdefghijklmnop123', 'Bad key [redacted]'],
    ['See https://platform.openai.com/account.', 'See [link]'],
    ['Organization org-AbCdEf123456 may not.', 'Organization [account] may not.'],
    ['Project 123456789012 has no access.', 'Project [account] has no access.'],
    ['resource projects/my-corp-prod/locations', 'resource projects/[account]/locations'],
    ['arn:aws:iam::123456789012:user/bob is denied', '[account] is denied'],
    ['Write to sales@corp.example.', 'Write to [account].'],
    ['dial tcp 10.1.2.3:8443: refused', 'dial tcp [address]: refused'],
    ['upstream llm-7.corp.internal:8080 said no', 'upstream [address] said no'],
    ['request id req_abcdef0123456789', 'request id [request]'],
    ['OpenAI does not take this.', 'the provider does not take this.'],
    ['Azure OpenAI Service refused; Anthropic’s too', 'the provider Service refused; the provider’s too'],
  ]
  for (const [said, passed] of cases) it(said, () => assert.equal(passableText(said), passed))

  it('are never longer than what says something', () => {
    assert.equal(passableText('a'.repeat(100_000)).length, 2_000)
  })
})

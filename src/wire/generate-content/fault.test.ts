import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FAULT_KINDS, Fault, type FaultCode } from '#core/fault.ts'
import { decodeFault, encodeFault } from './fault.ts'

const upstream = (fields: object = {}) => ({
  error: { code: 400, message: 'Upstream says so.', status: 'INVALID_ARGUMENT', ...fields },
})
const badField = {
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field: 'contents[0].parts', description: 'empty' }],
}

describe('decodeFault', () => {
  it("keeps the status and the words of errors about the client's own request", () => {
    const cases: [number, FaultCode][] = [
      [400, 'invalid_request'],
      [422, 'invalid_request'],
      [413, 'payload_too_large'],
    ]
    for (const [status, code] of cases) {
      const fault = decodeFault(status, upstream())
      assert.deepEqual([fault.code, fault.message], [code, 'Upstream says so.'])
    }
    assert.equal(decodeFault(400, upstream({ details: [badField] })).param, 'contents[0].parts')
  })

  it('knows a context overflow by its words, since it has no code', () => {
    const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
    const fault = decodeFault(400, upstream({ message }))
    assert.deepEqual([fault.code, fault.message], ['context_length_exceeded', message])
  })

  it('does not blame the client for what concerns our account, though it comes as 400', () => {
    const key = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }
    const bodies = [
      upstream({ message: 'API key not valid.', details: [key] }),
      upstream({ message: 'User location is not supported.', status: 'FAILED_PRECONDITION' }),
    ]
    for (const body of bodies) {
      const fault = decodeFault(400, body)
      assert.equal(fault.code, 'upstream_error')
      assert.doesNotMatch(fault.message, /key|location/)
    }
  })

  it('does not repeat what the upstream says of our account', () => {
    const cases: [number, FaultCode][] = [
      [401, 'upstream_error'],
      [403, 'upstream_error'],
      [404, 'upstream_error'],
      [402, 'all_channels_failed'],
      [429, 'all_channels_failed'],
      [503, 'all_channels_failed'],
      [504, 'timeout_error'],
      [499, 'upstream_error'],
      [500, 'upstream_error'],
    ]
    for (const [status, code] of cases) {
      const fault = decodeFault(status, upstream({ code: status, message: 'Quota of project-1 exceeded.' }))
      assert.equal(fault.code, code, String(status))
      assert.doesNotMatch(fault.message, /project-1/)
      assert.ok(fault.status >= 500)
    }
  })

  it('takes the status of an error that came in a good answer or a stream from the error itself', () => {
    assert.equal(decodeFault(200, upstream({ code: 429 })).code, 'all_channels_failed')
    assert.equal(decodeFault(200, upstream({ code: 400 })).code, 'invalid_request')
    assert.equal(decodeFault(200, upstream({ code: 'x' })).code, 'upstream_error')
  })

  it('reads an error that stands in an array', () => {
    assert.equal(decodeFault(400, [upstream()]).message, 'Upstream says so.')
  })

  it('blanks a key that the upstream repeats to us', () => {
    const fault = decodeFault(400, upstream({ message: 'Key AIza0123456789abcdef may not do this.' }))
    assert.equal(fault.message, 'Key [redacted] may not do this.')
  })

  it('has words of its own for errors without any, and keeps what came for the log', () => {
    for (const body of [undefined, '<html>', { error: 'text' }, { error: { message: '', details: 5 } }, []]) {
      const fault = decodeFault(400, body)
      assert.equal(fault.code, 'invalid_request')
      assert.ok(fault.message.length > 0)
      assert.equal(fault.param, undefined)
      assert.deepEqual(fault.cause, { status: 400, error: body })
    }
  })
})

describe('encodeFault', () => {
  it("is Google's error object with the gateway's code and hints in its details", () => {
    const fault = new Fault('model_not_found', 'No such model.', {
      param: 'model',
      didYouMean: 'm-2',
      retryAfterSeconds: 3,
    })
    assert.deepEqual(encodeFault(fault), {
      status: 404,
      body: {
        error: {
          code: 404,
          message: 'No such model.',
          status: 'NOT_FOUND',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'MODEL_NOT_FOUND',
              domain: 'tollgate',
              metadata: { did_you_mean: 'm-2' },
            },
            {
              '@type': 'type.googleapis.com/google.rpc.BadRequest',
              fieldViolations: [{ field: 'model', description: 'No such model.' }],
            },
            { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' },
          ],
        },
      },
    })
  })

  it('tells what is left and what a request may cost', () => {
    const fault = new Fault('insufficient_balance', 'Too little.', { balanceUsd: '0.25', estimatedCostUsd: '1.5' })
    const { status, body } = encodeFault(fault)
    const { error } = body as { error: { details: { metadata?: unknown }[] } }
    assert.equal(status, 402)
    assert.deepEqual(error.details[0]?.metadata, { balance_usd: '0.25', estimated_cost_usd: '1.5' })
  })

  it('has a word for every fault of the gateway', () => {
    const words: Partial<Record<FaultCode, string>> = {
      invalid_api_key: 'UNAUTHENTICATED',
      insufficient_balance: 'FAILED_PRECONDITION',
      quota_exceeded: 'FAILED_PRECONDITION',
      model_not_allowed: 'PERMISSION_DENIED',
      invalid_request: 'INVALID_ARGUMENT',
      payload_too_large: 'INVALID_ARGUMENT',
      internal_error: 'INTERNAL',
      upstream_error: 'UNAVAILABLE',
      all_channels_failed: 'UNAVAILABLE',
      timeout_error: 'DEADLINE_EXCEEDED',
    }
    for (const code of Object.keys(FAULT_KINDS) as FaultCode[]) {
      const { status, body } = encodeFault(new Fault(code, 'Sorry.'))
      const { error } = body as { error: { code: number; status: string } }
      assert.equal(error.code, status)
      assert.notEqual(error.status, 'UNKNOWN', code)
      if (words[code]) assert.equal(error.status, words[code])
    }
  })
})

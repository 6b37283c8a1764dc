import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FAULT_KINDS, Fault, type FaultCode } from '#core/fault.ts'
import { decodeFault, encodeFault } from './fault.ts'

const upstream = (type: string, message = 'Upstream says so.') => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_1',
})

describe('decodeFault', () => {
  it("keeps the status and the words of errors about the client's own request", () => {
    const cases: [number, string, FaultCode][] = [
      [400, 'invalid_request_error', 'invalid_request'],
      [422, 'invalid_request_error', 'invalid_request'],
      [413, 'request_too_large', 'payload_too_large'],
      [200, 'invalid_request_error', 'invalid_request'],
      [200, 'request_too_large', 'payload_too_large'],
    ]
    for (const [status, type, code] of cases) {
      const fault = decodeFault(status, upstream(type))
      assert.deepEqual([fault.code, fault.message], [code, 'Upstream says so.'])
    }
  })

  it('knows a context overflow by the only sign that there is', () => {
    const message = 'prompt is too long: 210000 tokens > 200000 maximum'
    const fault = decodeFault(400, upstream('invalid_request_error', message))
    assert.deepEqual([fault.code, fault.message], ['context_length_exceeded', message])
    assert.equal(decodeFault(500, upstream('api_error', message)).code, 'upstream_error')
  })

  it('does not blame the client for what concerns our account, nor repeat what the upstream says of it', () => {
    const cases: [number, string, FaultCode][] = [
      [401, 'authentication_error', 'upstream_error'],
      [403, 'permission_error', 'upstream_error'],
      [404, 'not_found_error', 'upstream_error'],
      [409, 'conflict_error', 'upstream_error'],
      [402, 'billing_error', 'all_channels_failed'],
      [429, 'rate_limit_error', 'all_channels_failed'],
      [529, 'overloaded_error', 'all_channels_failed'],
      [503, 'api_error', 'all_channels_failed'],
      [504, 'timeout_error', 'timeout_error'],
      [408, 'timeout_error', 'timeout_error'],
      [500, 'api_error', 'upstream_error'],
    ]
    for (const [status, type, code] of cases) {
      for (const each of status === 503 || status === 408 ? [status] : [status, 200]) {
        const fault = decodeFault(each, upstream(type, 'Key sk-secret of org-1 is over its quota.'))
        assert.equal(fault.code, code, `${each} ${type}`)
        assert.doesNotMatch(fault.message, /sk-secret|quota/)
        assert.ok(fault.status >= 500)
      }
    }
  })

  it('blanks a key that the upstream repeats to us', () => {
    const fault = decodeFault(400, upstream('invalid_request_error', 'Key sk-ant-0123456789abcdef may not do this.'))
    assert.equal(fault.message, 'Key [redacted] may not do this.')
  })

  it('has words of its own for errors without any, and keeps what came for the log', () => {
    for (const body of [undefined, '<html>', { error: 'text' }, { error: { message: '', type: 7 } }, []]) {
      const fault = decodeFault(400, body)
      assert.equal(fault.code, 'invalid_request')
      assert.ok(fault.message.length > 0)
      assert.deepEqual(fault.cause, { status: 400, error: body })
      assert.equal(decodeFault(200, body).code, 'upstream_error')
    }
  })
})

describe('encodeFault', () => {
  it("has the format's envelope and type, and the gateway's code and hints", () => {
    const fault = new Fault('model_not_found', 'No such model.', { param: 'model', didYouMean: 'claude' })
    assert.deepEqual(encodeFault(fault), {
      status: 404,
      body: {
        type: 'error',
        error: {
          type: 'not_found_error',
          message: 'No such model.',
          code: 'model_not_found',
          param: 'model',
          did_you_mean: 'claude',
        },
      },
    })
  })

  it('has a type of the format for every fault, that fits its status', () => {
    const expected: Partial<Record<FaultCode, [number, string]>> = {
      invalid_api_key: [401, 'authentication_error'],
      expired_api_key: [401, 'authentication_error'],
      insufficient_balance: [402, 'billing_error'],
      quota_exceeded: [402, 'billing_error'],
      model_not_allowed: [403, 'permission_error'],
      context_length_exceeded: [400, 'invalid_request_error'],
      payload_too_large: [413, 'request_too_large'],
      internal_error: [500, 'api_error'],
      upstream_error: [500, 'api_error'],
      all_channels_failed: [529, 'overloaded_error'],
      service_unavailable: [529, 'overloaded_error'],
      timeout_error: [504, 'timeout_error'],
      method_not_allowed: [405, 'invalid_request_error'],
    }
    for (const [code, [status, type]] of Object.entries(expected)) {
      const encoded = encodeFault(new Fault(code as FaultCode, 'x'))
      assert.deepEqual([encoded.status, (encoded.body.error as { type: string }).type], [status, type], code)
    }
    for (const code of Object.keys(FAULT_KINDS) as FaultCode[]) {
      const { body } = encodeFault(new Fault(code, 'x'))
      assert.match(String((body.error as { type: string }).type), /_error$|^request_too_large$/)
    }
  })

  it('says of a context overflow that the prompt is too long, whatever the upstream said', () => {
    const message = (of: string) => {
      const { body } = encodeFault(new Fault('context_length_exceeded', of))
      return (body.error as { message: string }).message
    }
    assert.equal(message('130000 tokens are too many.'), 'prompt is too long: 130000 tokens are too many.')
    assert.equal(message('Prompt is too long.'), 'Prompt is too long.')
  })

  it('names the request that failed, where it is known', () => {
    const fault = new Fault('invalid_request', 'No.')
    assert.equal(encodeFault(fault, 'req_1').body.request_id, 'req_1')
    assert.equal('request_id' in encodeFault(fault).body, false)
  })
})

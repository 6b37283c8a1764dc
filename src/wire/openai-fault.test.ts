import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault, type FaultCode } from '#core/fault.ts'
import { decodeFault, encodeFault } from './openai-fault.ts'

const upstream = (fields: object = {}) => ({
  error: { message: 'Upstream says so.', type: 'some_error', param: 'messages', code: null, ...fields },
})

describe('decodeFault', () => {
  it("keeps the status and the words of errors about the client's own request", () => {
    const cases: [number, FaultCode][] = [
      [400, 'invalid_request'],
      [422, 'invalid_request'],
      [413, 'payload_too_large'],
    ]
    for (const [status, code] of cases) {
      const fault = decodeFault(status, upstream())
      assert.deepEqual([fault.code, fault.message, fault.param], [code, 'Upstream says so.', 'messages'])
    }
  })

  it('knows a context overflow by its code, whatever the status', () => {
    for (const status of [400, 200, 500]) {
      const fault = decodeFault(status, upstream({ code: 'context_length_exceeded' }))
      assert.deepEqual([fault.code, fault.message], ['context_length_exceeded', 'Upstream says so.'])
    }
  })

  it('knows a context overflow by the words of hosts that have no code for it', () => {
    const overflows = [
      { message: "This model's maximum context length is 100 tokens. However, you requested 120 tokens." },
      { message: 'prompt too long; exceeded max context length by 20 tokens' },
      { message: 'the request exceeds the available context size, try increasing it' },
      { message: 'All too long.', type: 'too_many_prompt_tokens' },
    ]
    for (const fields of overflows) assert.equal(decodeFault(400, upstream(fields)).code, 'context_length_exceeded')
    assert.equal(decodeFault(500, upstream(overflows[0])).code, 'upstream_error')
  })

  it('reads an error that is a text, and one whose fields stand at the top', () => {
    for (const body of [
      { code: 'invalid', error: 'No such role.' },
      { object: 'error', message: 'No such role.' },
    ]) {
      const fault = decodeFault(400, body)
      assert.deepEqual([fault.code, fault.message], ['invalid_request', 'No such role.'])
    }
  })

  it('does not blame the client for a key or a model that the upstream does not know, whatever the status', () => {
    const ours = [
      { code: 'invalid-argument', error: 'Incorrect API key provided. You can obtain one from us.' },
      upstream({ code: 'model_not_found' }),
      upstream({ code: 'invalid_api_key' }),
    ]
    for (const body of ours) assert.equal(decodeFault(400, body).code, 'upstream_error')
  })

  it('believes the status that an error inside a good answer names', () => {
    const cases: [unknown, FaultCode][] = [
      [400, 'invalid_request'],
      [429, 'all_channels_failed'],
      [502, 'upstream_error'],
      [7, 'upstream_error'],
      ['429', 'upstream_error'],
      ['content_filter', 'invalid_request'],
    ]
    for (const [named, code] of cases) assert.equal(decodeFault(200, upstream({ code: named })).code, code)
    assert.equal(decodeFault(500, upstream({ code: 400 })).code, 'upstream_error')
  })

  it('does not blame the client for what concerns our account, nor repeat what the upstream says of it', () => {
    const cases: [number, FaultCode][] = [
      [401, 'upstream_error'],
      [403, 'upstream_error'],
      [404, 'upstream_error'],
      [402, 'all_channels_failed'],
      [429, 'all_channels_failed'],
      [503, 'all_channels_failed'],
      [529, 'all_channels_failed'],
      [408, 'timeout_error'],
      [504, 'timeout_error'],
      [500, 'upstream_error'],
      [502, 'upstream_error'],
      [200, 'upstream_error'],
    ]
    for (const [status, code] of cases) {
      const fault = decodeFault(status, upstream({ message: 'Key sk-secret of org-1 is over its quota.' }))
      assert.equal(fault.code, code, String(status))
      assert.doesNotMatch(fault.message, /sk-secret|quota/)
      assert.ok(fault.status >= 500)
    }
  })

  it('blanks a key that the upstream repeats to us', () => {
    const fault = decodeFault(400, upstream({ message: 'Key sk-proj-0123456789abcdef may not do this.' }))
    assert.equal(fault.message, 'Key [redacted] may not do this.')
  })

  it('has words of its own for errors without any, and keeps what came for the log', () => {
    for (const body of [undefined, '<html>', { error: '' }, { error: { message: '', param: 5, code: 7 } }, []]) {
      const fault = decodeFault(400, body)
      assert.equal(fault.code, 'invalid_request')
      assert.ok(fault.message.length > 0)
      assert.equal(fault.param, undefined)
      assert.deepEqual(fault.cause, { status: 400, error: body })
    }
  })
})

describe('encodeFault', () => {
  it("is the gateway's own error object with its status", () => {
    const { status, body } = encodeFault(new Fault('model_not_found', 'No such model.', { param: 'model' }))
    assert.equal(status, 400)
    assert.deepEqual(body, {
      error: { message: 'No such model.', type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
    })
  })
})

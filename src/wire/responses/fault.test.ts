import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault, type FaultCode } from '#core/fault.ts'
import { decodeFailure, decodeFault, encodeFault, encodeFaultEvent } from './fault.ts'

describe('decodeFailure', () => {
  it('means by a code what its status would have meant', () => {
    const cases: [string, FaultCode][] = [
      ['invalid_prompt', 'invalid_request'],
      ['image_too_large', 'invalid_request'],
      ['context_length_exceeded', 'context_length_exceeded'],
      ['rate_limit_exceeded', 'all_channels_failed'],
      ['insufficient_quota', 'all_channels_failed'],
      ['vector_store_timeout', 'timeout_error'],
      ['server_error', 'upstream_error'],
      ['data_residency_mismatch', 'upstream_error'],
      ['x_unheard_of', 'upstream_error'],
    ]
    for (const [code, expected] of cases) assert.equal(decodeFailure({ code, message: 'x' }).code, expected)
  })

  it('repeats what the upstream says only where it is about the request', () => {
    const said = { message: 'Upstream says so.', param: 'input' }
    const refused = decodeFailure({ code: 'invalid_image', ...said })
    assert.deepEqual([refused.message, refused.param], ['Upstream says so.', 'input'])
    assert.doesNotMatch(decodeFailure({ code: 'server_error', ...said }).message, /Upstream says so/)
  })

  it('reads an event whose fields stand in an error, and takes nonsense for an error of the upstream', () => {
    assert.equal(decodeFailure({ type: 'error', error: { code: 'invalid_prompt' } }).code, 'invalid_request')
    for (const value of [undefined, null, 'x', {}]) assert.equal(decodeFailure(value).code, 'upstream_error')
  })
})

describe('encodeFaultEvent', () => {
  it('puts the fields of the error into the event itself', () => {
    const fault = new Fault('all_channels_failed', 'Later.', { retryAfterSeconds: 3 })
    const { event, data } = encodeFaultEvent(fault, 7)
    assert.equal(event, 'error')
    assert.deepEqual(JSON.parse(data ?? ''), {
      type: 'error',
      sequence_number: 7,
      code: 'all_channels_failed',
      message: 'Later.',
      param: null,
      retryable: true,
      retry_after: 3,
    })
  })

  it('has the type for a code where a fault has none', () => {
    const { data } = encodeFaultEvent(new Fault('invalid_request', 'No.', { param: 'input' }), 0)
    const { code, param } = JSON.parse(data ?? '')
    assert.deepEqual([code, param], ['invalid_request_error', 'input'])
  })
})

describe('errors with a status', () => {
  it('are those of the family', () => {
    assert.equal(decodeFault(400, { error: { message: 'No.' } }).code, 'invalid_request')
    const { status, body } = encodeFault(new Fault('upstream_error', 'Broken.'))
    assert.equal(status, 502)
    assert.equal((body as { error: { type: string } }).error.type, 'upstream_error')
  })
})

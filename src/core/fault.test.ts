import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errorBody, FAULT_KINDS, Fault, type FaultCode, faultHeaders } from './fault.ts'

describe('Fault', () => {
  it('has the status of its code', () => {
    assert.equal(new Fault('model_not_allowed', 'x').status, 403)
    assert.equal(new Fault('model_not_found', 'x').status, 400)
    assert.equal(new Fault('timeout_error', 'x').status, 504)
  })

  it('may be retried when its kind or whoever threw it says so', () => {
    assert.equal(new Fault('all_channels_failed', 'x').retryable, true)
    assert.equal(new Fault('invalid_request', 'x').retryable, false)
    assert.equal(new Fault('all_channels_failed', 'x', { retryable: false }).retryable, false)
    assert.equal(new Fault('internal_error', 'x', { retryable: true }).retryable, true)
  })

  it('is made of anything that is thrown, and keeps the true cause for the log only', () => {
    const fault = new Fault('not_found', 'Gone.')
    assert.equal(Fault.from(fault), fault)
    for (const thrown of [new Error('password is hunter2'), 'hunter2', undefined, null, 5]) {
      const made = Fault.from(thrown)
      assert.equal(made.code, 'internal_error')
      assert.equal(made.cause, thrown)
      assert.doesNotMatch(JSON.stringify(errorBody(made)), /hunter2/)
    }
  })
})

describe('errorBody', () => {
  it('always has a message and a type, and a code but for plain invalid requests', () => {
    for (const code of Object.keys(FAULT_KINDS) as FaultCode[]) {
      const { error } = errorBody(new Fault(code, 'A sentence.'))
      assert.equal(error.message, 'A sentence.')
      assert.equal(error.type, FAULT_KINDS[code].type)
      assert.equal(error.code, code === 'invalid_request' ? undefined : FAULT_KINDS[code].code)
      assert.equal('code' in error, code !== 'invalid_request')
    }
  })

  it("spells the hints as the specification's error object does, and leaves out those not given", () => {
    const fault = new Fault('model_not_found', 'The model "gtp-5" is not available.', {
      param: 'model',
      didYouMean: 'gpt-5',
      suggestions: ['gpt-5', 'gpt-5-mini'],
      hint: 'List the models.',
      retryable: true,
      retryAfterSeconds: 0,
      balanceUsd: '0.25',
      estimatedCostUsd: '1.5',
      alternatives: [{ id: 'gpt-5', status: 'available', tags: [] }],
    })
    assert.deepEqual(errorBody(fault), {
      error: {
        message: 'The model "gtp-5" is not available.',
        type: 'invalid_request_error',
        code: 'model_not_found',
        param: 'model',
        did_you_mean: 'gpt-5',
        suggestions: [{ id: 'gpt-5' }, { id: 'gpt-5-mini' }],
        hint: 'List the models.',
        retryable: true,
        retry_after: 0,
        balance_usd: 0.25,
        estimated_cost_usd: 1.5,
        alternatives: [{ id: 'gpt-5', status: 'available', tags: [] }],
      },
    })
    assert.deepEqual(Object.keys(errorBody(new Fault('invalid_request', 'x')).error), ['message', 'type'])
  })
})

describe('the fields at fault', () => {
  it('stand beside the error, in its `validation_errors`', () => {
    const validationErrors = [
      { field: 'name', message: 'must be a string' },
      { field: 'models', message: 'must be an array' },
    ]
    const body = errorBody(new Fault('invalid_request', 'x', { param: 'name', validationErrors }))
    assert.deepEqual(body, {
      error: { message: 'x', type: 'invalid_request_error', param: 'name' },
      validation_errors: validationErrors,
    })
    assert.ok(!('validation_errors' in errorBody(new Fault('invalid_request', 'x'))))
  })
})

describe('faultHeaders', () => {
  it('say when to come back', () => {
    assert.deepEqual(faultHeaders(new Fault('service_unavailable', 'x', { retryAfterSeconds: 7 })), {
      'retry-after': '7',
    })
  })

  it('keep SDKs from repeating what cannot succeed', () => {
    assert.deepEqual(faultHeaders(new Fault('internal_error', 'x')), { 'x-should-retry': 'false' })
    assert.deepEqual(faultHeaders(new Fault('upstream_error', 'x')), {})
    assert.deepEqual(faultHeaders(new Fault('invalid_request', 'x')), {})
    assert.deepEqual(faultHeaders(new Fault('insufficient_balance', 'x')), {})
  })

  it('have SDKs repeat a refusal for money that is only held', () => {
    const held = new Fault('quota_exceeded', 'x', { retryable: true, retryAfterSeconds: 1 })
    assert.deepEqual(faultHeaders(held), { 'retry-after': '1', 'x-should-retry': 'true' })
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FinishReason } from '#core/result.ts'
import { decodeFinish, encodeFinish } from './finish-reason.ts'

const SPOKEN = { hasToolCalls: false }

describe('finish reasons', () => {
  it("have one meaning each, and keep the provider's word", () => {
    const meanings: [string, FinishReason][] = [
      ['stop', 'stop'],
      ['length', 'length'],
      ['tool_calls', 'tool-calls'],
      ['function_call', 'tool-calls'],
      ['content_filter', 'refusal'],
      ['model_length', 'length'],
      ['error', 'error'],
    ]
    for (const [raw, reason] of meanings) assert.deepEqual(decodeFinish(raw, SPOKEN), { reason, raw })
  })

  it('mean that tools are to be called when tools are called, whatever plain end the host names', () => {
    for (const raw of ['stop', 'tool_calls', '', undefined]) {
      assert.deepEqual(decodeFinish(raw, { hasToolCalls: true }), { reason: 'tool-calls', raw })
    }
    for (const [raw, reason] of [
      ['length', 'length'],
      ['content_filter', 'refusal'],
      ['eos', 'other'],
    ]) {
      assert.equal(decodeFinish(raw, { hasToolCalls: true }).reason, reason)
    }
  })

  it('are "other" when a provider says what the format does not know, or nothing', () => {
    for (const raw of ['eos', 'insufficient_system_resource', 'constructor', '__proto__', '']) {
      assert.deepEqual(decodeFinish(raw, SPOKEN), { reason: 'other', raw })
    }
    for (const value of [null, undefined, 5, {}])
      assert.deepEqual(decodeFinish(value, SPOKEN), { reason: 'other', raw: undefined })
  })

  it('are told to clients in words that their SDKs know', () => {
    const words: Record<FinishReason, string> = {
      stop: 'stop',
      'stop-sequence': 'stop',
      length: 'length',
      'tool-calls': 'tool_calls',
      refusal: 'content_filter',
      pause: 'stop',
      error: 'stop',
      other: 'stop',
    }
    for (const [reason, word] of Object.entries(words) as [FinishReason, string][]) {
      assert.equal(encodeFinish({ reason, raw: undefined }), word)
    }
  })
})

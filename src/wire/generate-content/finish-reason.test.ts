import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FinishReason } from '#core/result.ts'
import { decodeBlock, decodeFinish, encodeFinish } from './finish-reason.ts'

describe('finish reasons', () => {
  it("have one meaning each, and keep the provider's word", () => {
    const meanings: [FinishReason, string[]][] = [
      ['stop', ['STOP']],
      ['length', ['MAX_TOKENS']],
      ['refusal', ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'MODEL_ARMOR']],
      ['refusal', ['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION']],
      ['error', ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE']],
      ['other', ['OTHER', 'LANGUAGE', 'NO_IMAGE', 'IMAGE_OTHER', 'CONTINUATION', 'FINISH_REASON_UNSPECIFIED']],
      ['other', ['NEW_REASON', 'constructor', '__proto__', '']],
    ]
    for (const [reason, words] of meanings) {
      for (const raw of words) assert.deepEqual(decodeFinish(raw, { hasToolCalls: false }), { reason, raw })
    }
    for (const value of [null, undefined, 5, {}])
      assert.deepEqual(decodeFinish(value, { hasToolCalls: true }), { reason: 'other', raw: undefined })
  })

  it('are "tool calls" only where a candidate with calls just stops', () => {
    assert.deepEqual(decodeFinish('STOP', { hasToolCalls: true }), { reason: 'tool-calls', raw: 'STOP' })
    assert.equal(decodeFinish('MAX_TOKENS', { hasToolCalls: true }).reason, 'length')
  })

  it('are a refusal when the prompt was blocked, whatever the word', () => {
    for (const raw of ['SAFETY', 'JAILBREAK', 'MODEL_ARMOR', 'NEW_REASON'])
      assert.deepEqual(decodeBlock(raw), { reason: 'refusal', raw })
  })

  it('are told to clients in words that their SDKs know', () => {
    const words: Record<FinishReason, string> = {
      stop: 'STOP',
      'stop-sequence': 'STOP',
      length: 'MAX_TOKENS',
      'tool-calls': 'STOP',
      refusal: 'SAFETY',
      pause: 'STOP',
      error: 'OTHER',
      other: 'OTHER',
    }
    for (const [reason, word] of Object.entries(words) as [FinishReason, string][]) {
      assert.equal(encodeFinish({ reason, raw: undefined }), word)
      assert.equal(encodeFinish({ reason, raw: 'end_turn' }), word)
    }
    assert.equal(encodeFinish({ reason: 'refusal', raw: 'RECITATION' }), 'RECITATION')
    assert.equal(encodeFinish({ reason: 'refusal', raw: 'STOP' }), 'SAFETY')
  })
})

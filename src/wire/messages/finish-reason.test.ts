import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FinishReason } from '#core/result.ts'
import { decodeFinish, encodeFinish } from './finish-reason.ts'

const WORDS: [string, FinishReason][] = [
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-calls'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
]

describe('stop reasons', () => {
  it("have one meaning each, keep the provider's word, and come back as it", () => {
    for (const [raw, reason] of WORDS) {
      const finish = decodeFinish({ stop_reason: raw, stop_sequence: null })
      assert.deepEqual(finish, { reason, raw })
      assert.deepEqual(encodeFinish(finish, false), { stop_reason: raw, stop_sequence: null })
    }
  })

  it('keep the sequence that stopped the model', () => {
    const finish = decodeFinish({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    assert.equal(finish.stopSequence, 'END')
    assert.deepEqual(encodeFinish(finish, false), { stop_reason: 'stop_sequence', stop_sequence: 'END' })
  })

  it('are "other" when a provider says what the format does not know, or nothing', () => {
    for (const raw of ['eos', 'constructor', '__proto__', '']) {
      assert.deepEqual(decodeFinish({ stop_reason: raw }), { reason: 'other', raw })
    }
    for (const stop_reason of [null, undefined, 5, {}]) {
      assert.deepEqual(decodeFinish({ stop_reason }), { reason: 'other', raw: undefined })
    }
  })

  it("are told to clients in this format's words, whatever the provider's were", () => {
    const words: Record<FinishReason, string> = {
      stop: 'end_turn',
      'stop-sequence': 'stop_sequence',
      length: 'max_tokens',
      'tool-calls': 'tool_use',
      refusal: 'refusal',
      pause: 'pause_turn',
      error: 'end_turn',
      other: 'end_turn',
    }
    for (const [reason, word] of Object.entries(words) as [FinishReason, string][]) {
      for (const raw of [undefined, 'stop', 'x']) {
        assert.equal(encodeFinish({ reason, raw }, false).stop_reason, word)
      }
    }
  })

  it('say that tools are called when they are and the reason is only that the answer ended', () => {
    const reason = (each: FinishReason) => encodeFinish({ reason: each, raw: undefined }, true).stop_reason
    assert.deepEqual([reason('stop'), reason('other'), reason('length')], ['tool_use', 'tool_use', 'max_tokens'])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyUsage } from '../../../test/support/arbitrary-answer.ts'
import { decodeUsage, encodeUsage } from './usage.ts'

function known(value: object | undefined): unknown {
  return value && Object.fromEntries(Object.entries(value).filter(([, count]) => count !== undefined))
}

describe('decodeUsage', () => {
  it('reads totals and their parts', () => {
    const usage = decodeUsage({
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10, audio_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 7, accepted_prediction_tokens: 3 },
    })
    assert.deepEqual(usage, {
      inputTokens: 100,
      outputTokens: 50,
      totalTokens: 150,
      cacheReadTokens: 60,
      cacheWriteTokens: 10,
      audioInputTokens: 5,
      reasoningTokens: 20,
      audioOutputTokens: 7,
    })
  })

  it('does not take what nobody reported for zero', () => {
    const usage = decodeUsage({ prompt_tokens: 3, completion_tokens: 0, prompt_tokens_details: null })
    assert.deepEqual(known(usage), { inputTokens: 3, outputTokens: 0 })
  })

  it('does not make a charge of a broken count', () => {
    for (const broken of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '12', null, {}, 2 ** 60]) {
      const usage = decodeUsage({ prompt_tokens: 7, completion_tokens: broken, total_tokens: broken })
      assert.deepEqual(known(usage), { inputTokens: 7 })
    }
  })

  it('is unknown when neither side was reported', () => {
    for (const value of [undefined, null, 5, [], {}, { total_tokens: 9 }, { prompt_tokens: -1 }]) {
      assert.equal(decodeUsage(value), undefined)
    }
  })
})

describe('encodeUsage', () => {
  it('is undone by decodeUsage when both sides are known', () => {
    fc.assert(fc.property(anyUsage, usage => assert.deepEqual(known(decodeUsage(encodeUsage(usage))), known(usage))))
  })

  it('always has the three totals, and details only when something in them is known', () => {
    assert.deepEqual(encodeUsage({ inputTokens: 3, outputTokens: 4 }), {
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
    })
    assert.deepEqual(encodeUsage({ outputTokens: 4, cacheReadTokens: 0, totalTokens: 10 }), {
      prompt_tokens: 0,
      completion_tokens: 4,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 0 },
    })
  })
})

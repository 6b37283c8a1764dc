import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyResponsesUsage } from '../../../test/support/arbitrary-responses.ts'
import { decodeUsage, encodeUsage } from './usage.ts'

function known(value: object | undefined): unknown {
  return value && Object.fromEntries(Object.entries(value).filter(([, count]) => count !== undefined))
}

describe('decodeUsage', () => {
  it('reads totals and their parts', () => {
    const usage = decodeUsage({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10, audio_tokens: 5 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20, audio_tokens: 7 },
      total_tokens: 150,
    })
    assert.deepEqual(known(usage), {
      inputTokens: 100,
      cacheReadTokens: 60,
      cacheWriteTokens: 10,
      audioInputTokens: 5,
      outputTokens: 50,
      reasoningTokens: 20,
      audioOutputTokens: 7,
      totalTokens: 150,
    })
  })

  it('does not take what nobody reported for zero, nor make a charge of a broken count', () => {
    assert.deepEqual(known(decodeUsage({ input_tokens: 3, output_tokens: 0, input_tokens_details: null })), {
      inputTokens: 3,
      outputTokens: 0,
    })
    for (const broken of [-1, 1.5, Number.NaN, '12', null, {}, 2 ** 60]) {
      const usage = decodeUsage({ input_tokens: 7, output_tokens: broken, total_tokens: broken })
      assert.deepEqual(known(usage), { inputTokens: 7 })
    }
  })

  it('is unknown when neither side was reported', () => {
    for (const value of [undefined, null, 5, [], {}, { total_tokens: 9 }, { prompt_tokens: 1 }]) {
      assert.equal(decodeUsage(value), undefined)
    }
  })
})

describe('encodeUsage', () => {
  it('is undone by decodeUsage when what the format requires is known', () => {
    fc.assert(
      fc.property(anyResponsesUsage, usage => assert.deepEqual(known(decodeUsage(encodeUsage(usage))), known(usage))),
    )
  })

  it('always has the counts that clients read without asking', () => {
    assert.deepEqual(encodeUsage({ inputTokens: 3, outputTokens: 4 }), {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 7,
    })
  })

  it('has one number for cache writes of every lifetime', () => {
    const written = (usage: object) => encodeUsage(usage).input_tokens_details as { cache_write_tokens?: number }
    assert.equal(written({ cacheWrite5mTokens: 3, cacheWrite1hTokens: 4 }).cache_write_tokens, 7)
    assert.equal(written({ cacheWrite1hTokens: 4 }).cache_write_tokens, 4)
    assert.equal(written({ cacheWriteTokens: 9, cacheWrite1hTokens: 4 }).cache_write_tokens, 9)
  })
})

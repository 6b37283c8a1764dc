import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyUsage } from '../../../test/support/arbitrary-answer.ts'
import { decodeChunkUsage, decodeUsage, encodeUsage } from './usage.ts'

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

  it('finds what hosts report in places of their own', () => {
    const totals = { prompt_tokens: 50, completion_tokens: 9 }
    const places: [object, object][] = [
      [{ prompt_token_details: { cached_tokens: 40 } }, { cacheReadTokens: 40 }],
      [{ num_cached_tokens: 40 }, { cacheReadTokens: 40 }],
      [{ prompt_cache_hit_tokens: 40, prompt_cache_miss_tokens: 10 }, { cacheReadTokens: 40 }],
      [{ cached_tokens: 40 }, { cacheReadTokens: 40 }],
      [{ prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 40 }, { cacheReadTokens: 0 }],
      [{ prompt_tokens_details: { cache_creation_input_tokens: 30 } }, { cacheWriteTokens: 30 }],
      [{ reasoning_tokens: 4 }, { reasoningTokens: 4 }],
      [{ completion_tokens_details: null, reasoning_tokens: 4 }, { reasoningTokens: 4 }],
    ]
    for (const [wire, counts] of places) {
      assert.deepEqual(known(decodeUsage({ ...totals, ...wire })), { inputTokens: 50, outputTokens: 9, ...counts })
    }
  })

  it('counts as output the thoughts that a host has only in the total', () => {
    const counted = { prompt_tokens: 12, completion_tokens: 2, total_tokens: 334 }
    const details = { completion_tokens_details: { reasoning_tokens: 320 } }
    const expected = { inputTokens: 12, outputTokens: 322, reasoningTokens: 320, totalTokens: 334 }
    assert.deepEqual(known(decodeUsage({ ...counted, ...details })), expected)
    assert.deepEqual(known(decodeUsage(counted)), expected)
  })

  it('counts as input the sound that a host has only in the total, and what was cached where it is more than that', () => {
    const heard = {
      prompt_tokens: 9,
      completion_tokens: 8,
      total_tokens: 392,
      prompt_tokens_details: { audio_tokens: 375 },
    }
    assert.equal(decodeUsage(heard)?.inputTokens, 384)
    const cached = { prompt_tokens: 208, completion_tokens: 27, total_tokens: 235, cached_tokens: 314 }
    assert.equal(decodeUsage(cached)?.inputTokens, 522)
  })

  it('believes both sides when the total is none of that', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 6, completion_tokens_details: { reasoning_tokens: 2 } }
    for (const total_tokens of [0, 3, 11, 12, 100]) {
      const { inputTokens, outputTokens } = decodeUsage({ ...usage, total_tokens }) ?? {}
      assert.deepEqual([inputTokens, outputTokens], [5, 6])
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

describe('decodeChunkUsage', () => {
  it('reads the usage of a chunk, and the one of a host of its own where that is all there is', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 }
    const own = { x_groq: { id: 'req', usage: { prompt_tokens: 3, completion_tokens: 4 } } }
    assert.deepEqual(known(decodeChunkUsage({ usage, ...own })), { inputTokens: 1, outputTokens: 2 })
    assert.deepEqual(known(decodeChunkUsage({ usage: null, ...own })), { inputTokens: 3, outputTokens: 4 })
    assert.equal(decodeChunkUsage({ x_groq: { id: 'req' } }), undefined)
  })
})

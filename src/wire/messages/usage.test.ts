import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { usage as anyUsage } from '../../../test/support/arbitrary-messages.ts'
import { decodeUsage, encodeUsage, extraUsage, mergeUsage } from './usage.ts'

function known(value: object | undefined): unknown {
  return value && Object.fromEntries(Object.entries(value).filter(([, count]) => count !== undefined))
}

describe('decodeUsage', () => {
  it('adds to the input what was read from the cache and written to it', () => {
    const usage = decodeUsage({
      input_tokens: 100,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 40 },
      server_tool_use: { web_search_requests: 1 },
      service_tier: 'standard',
    })
    assert.deepEqual(usage, {
      inputTokens: 190,
      cacheReadTokens: 60,
      cacheWriteTokens: 30,
      cacheWrite5mTokens: 10,
      cacheWrite1hTokens: 20,
      outputTokens: 50,
      reasoningTokens: 40,
    })
  })

  it('knows the writes by their lifetimes where the total is missing', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 }
    const usage = decodeUsage({ input_tokens: 1, output_tokens: 1, cache_creation })
    assert.deepEqual([usage?.inputTokens, usage?.cacheWriteTokens], [31, 30])
  })

  it('does not take what nobody reported for zero', () => {
    const usage = decodeUsage({
      input_tokens: 3,
      output_tokens: 0,
      cache_read_input_tokens: null,
      cache_creation: null,
    })
    assert.deepEqual(known(usage), { inputTokens: 3, outputTokens: 0 })
  })

  it('does not make a charge of a broken count', () => {
    for (const broken of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '12', null, {}, 2 ** 60]) {
      const usage = decodeUsage({ input_tokens: 7, output_tokens: broken, cache_read_input_tokens: broken })
      assert.deepEqual(known(usage), { inputTokens: 7 })
    }
  })

  it('is unknown when neither side was reported', () => {
    for (const value of [undefined, null, 5, [], {}, { cache_read_input_tokens: 9 }, { input_tokens: -1 }]) {
      assert.equal(decodeUsage(value), undefined)
    }
  })
})

describe('encodeUsage', () => {
  it('is undone by decodeUsage when both sides are known', () => {
    fc.assert(fc.property(anyUsage, usage => assert.deepEqual(known(decodeUsage(encodeUsage(usage))), known(usage))))
  })

  it('takes cached tokens out of the input, and never below zero', () => {
    assert.deepEqual(encodeUsage({ inputTokens: 10, cacheReadTokens: 4, cacheWriteTokens: 3, outputTokens: 2 }), {
      input_tokens: 3,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 4,
      output_tokens: 2,
    })
    assert.equal(encodeUsage({ inputTokens: 3, cacheReadTokens: 4 }).input_tokens, 0)
  })
})

describe('mergeUsage', () => {
  it('takes the larger of two counts, whoever tells it, and never their sum', () => {
    const counts = fc.record(
      { input_tokens: fc.nat(), output_tokens: fc.nat(), cache_creation: fc.record({ a: fc.nat() }) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(counts, counts, (before, after) => {
        const merged = mergeUsage(before, after)
        for (const field of ['input_tokens', 'output_tokens'] as const) {
          const told = [before[field], after[field]].filter(each => each !== undefined)
          assert.equal(merged[field], told.length === 0 ? undefined : Math.max(...told))
        }
        const nested = [before.cache_creation?.a, after.cache_creation?.a].filter(each => each !== undefined)
        const { cache_creation } = merged as { cache_creation?: { a: number } }
        assert.equal(cache_creation?.a, nested.length === 0 ? undefined : Math.max(...nested))
      }),
    )
  })

  it('forgets nothing for a null, a broken count or nothing at all', () => {
    const before = { input_tokens: 5, cache_creation: { a: 1 } }
    assert.deepEqual(mergeUsage(before, { input_tokens: null, cache_creation: null }), before)
    assert.deepEqual(mergeUsage(before, { input_tokens: -1 }), before)
    assert.deepEqual(mergeUsage(before, undefined), before)
  })
})

describe('extraUsage', () => {
  it('is what only this format counts', () => {
    assert.deepEqual(extraUsage({ input_tokens: 1, server_tool_use: { web_search_requests: 2 }, speed: null }), {
      server_tool_use: { web_search_requests: 2 },
    })
    assert.equal(extraUsage({ output_tokens: 1, service_tier: 'standard', server_tool_use: null }), undefined)
    assert.equal(extraUsage(undefined), undefined)
  })
})

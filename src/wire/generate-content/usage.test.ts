import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyUsage } from '../../../test/support/arbitrary-generate-content.ts'
import { decodeChunkUsage, decodeUsage, encodeUsage } from './usage.ts'

function known(value: object | undefined): unknown {
  return value && Object.fromEntries(Object.entries(value).filter(([, count]) => count !== undefined))
}

describe('decodeUsage', () => {
  it('counts thoughts into the output, and what tools brought into the input', () => {
    const usage = decodeUsage({
      promptTokenCount: 100,
      toolUsePromptTokenCount: 10,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 20,
      totalTokenCount: 160,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 95 },
        { modality: 'AUDIO', tokenCount: 5 },
      ],
      candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 7 }],
      trafficType: 'ON_DEMAND',
    })
    assert.deepEqual(usage, {
      inputTokens: 110,
      cacheReadTokens: 60,
      audioInputTokens: 5,
      outputTokens: 50,
      reasoningTokens: 20,
      audioOutputTokens: 7,
      totalTokens: 160,
    })
  })

  it('reads a side that Google left out from the total', () => {
    assert.equal(decodeUsage({ promptTokenCount: 5, totalTokenCount: 5 })?.outputTokens, 0)
    assert.equal(decodeUsage({ promptTokenCount: 5, totalTokenCount: 9 })?.outputTokens, 4)
    assert.equal(decodeUsage({ promptTokenCount: 5, thoughtsTokenCount: 3 })?.outputTokens, 3)
  })

  it('does not take what nobody reported for zero', () => {
    assert.deepEqual(known(decodeUsage({ promptTokenCount: 3 })), { inputTokens: 3 })
    assert.deepEqual(known(decodeUsage({ candidatesTokenCount: 3 })), { outputTokens: 3 })
  })

  it('does not make a charge of a broken count', () => {
    for (const broken of [-1, 1.5, Number.NaN, '12', null, {}, 2 ** 60]) {
      const usage = decodeUsage({ promptTokenCount: 7, candidatesTokenCount: broken, totalTokenCount: broken })
      assert.deepEqual(known(usage), { inputTokens: 7 })
    }
  })

  it('is unknown when neither side was reported', () => {
    for (const value of [undefined, null, 5, [], {}, { totalTokenCount: 9 }])
      assert.equal(decodeUsage(value), undefined)
  })
})

describe('decodeChunkUsage', () => {
  it('takes an output that nobody has counted yet for unknown, and for nothing only at the end', () => {
    const uncounted = { promptTokenCount: 5, totalTokenCount: 5 }
    assert.deepEqual(known(decodeChunkUsage(uncounted, { isEnd: false })), { inputTokens: 5, totalTokens: 5 })
    assert.equal(decodeChunkUsage(uncounted, { isEnd: true })?.outputTokens, 0)
    assert.equal(decodeChunkUsage({ promptTokenCount: 5, totalTokenCount: 9 }, { isEnd: false })?.outputTokens, 4)
    assert.equal(decodeChunkUsage(undefined, { isEnd: true }), undefined)
  })
})

describe('encodeUsage', () => {
  it('is undone by decodeUsage when both sides are known', () => {
    fc.assert(fc.property(anyUsage, usage => assert.deepEqual(known(decodeUsage(encodeUsage(usage))), known(usage))))
  })

  it('takes thoughts out of the candidates again, and never below nothing', () => {
    assert.deepEqual(encodeUsage({ inputTokens: 3, outputTokens: 10, reasoningTokens: 4, cacheReadTokens: 2 }), {
      promptTokenCount: 3,
      candidatesTokenCount: 6,
      totalTokenCount: 13,
      cachedContentTokenCount: 2,
      thoughtsTokenCount: 4,
    })
    assert.equal(encodeUsage({ outputTokens: 1, reasoningTokens: 4 }).candidatesTokenCount, 0)
  })
})

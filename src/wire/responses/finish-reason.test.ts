import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FinishReason } from '#core/result.ts'
import { decodeFinish, encodeFinish } from './finish-reason.ts'

describe('finish reasons', () => {
  it('follow from the status, and from its details where there are any', () => {
    const meanings: [object, FinishReason, string][] = [
      [{ status: 'completed', incomplete_details: null }, 'stop', 'completed'],
      [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length', 'max_output_tokens'],
      [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'refusal', 'content_filter'],
      [{ status: 'failed' }, 'error', 'failed'],
      [{ status: 'queued' }, 'pause', 'queued'],
      [{ status: 'in_progress' }, 'pause', 'in_progress'],
    ]
    for (const [response, reason, raw] of meanings) {
      assert.deepEqual(decodeFinish({ ...response }, false), { reason, raw })
    }
  })

  it('are calls of tools when a completed response has them, and only then', () => {
    assert.equal(decodeFinish({ status: 'completed' }, true).reason, 'tool-calls')
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    assert.equal(decodeFinish(cut, true).reason, 'length')
  })

  it('are "other" when a provider says what the format does not know, or nothing', () => {
    for (const raw of ['cancelled', 'incomplete', 'constructor', '']) {
      assert.deepEqual(decodeFinish({ status: raw }, false), { reason: 'other', raw })
    }
    for (const response of [{}, { status: null }, { incomplete_details: { reason: 5 } }]) {
      assert.deepEqual(decodeFinish(response, false), { reason: 'other', raw: undefined })
    }
  })

  it('are told to clients in words that their SDKs know', () => {
    const words: Record<FinishReason, string> = {
      stop: 'completed',
      'stop-sequence': 'completed',
      length: 'incomplete max_output_tokens',
      'tool-calls': 'completed',
      refusal: 'incomplete content_filter',
      pause: 'completed',
      error: 'failed',
      other: 'completed',
    }
    for (const [reason, word] of Object.entries(words) as [FinishReason, string][]) {
      const { status, incomplete_details } = encodeFinish({ reason, raw: undefined })
      const details = incomplete_details as { reason: string } | null
      assert.equal(details ? `${status} ${details.reason}` : status, word)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { Result } from '#core/result.ts'
import { anyResult } from '../../../test/support/arbitrary-answer.ts'
import { decodeResponse } from './decode-response.ts'
import { encodeResponse } from './encode-response.ts'

const RESULT: Result = {
  id: 'chatcmpl-1',
  model: 'upstream-model',
  createdAt: 1_700_000_000,
  choices: [{ index: 0, parts: [{ type: 'text', text: 'Hello' }], finish: { reason: 'stop', raw: 'end_turn' } }],
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
  extensions: {},
}

function encode(fields: Partial<Result>): Record<string, unknown> {
  return encodeResponse({ ...RESULT, ...fields }, { publicModel: 'public-model', wantsStreamUsage: false })
}

function messageOf(parts: readonly Part[]): unknown {
  const { choices } = encode({ choices: [{ index: 0, parts, finish: { reason: 'stop', raw: undefined } }] })
  return (choices as { message: unknown }[])[0]?.message
}

function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('encodeResponse', () => {
  it('is undone by decodeResponse for every answer that the format can carry', () => {
    fc.assert(
      fc.property(anyResult, result => {
        const body = encodeResponse(result, { publicModel: result.model, wantsStreamUsage: false })
        assert.deepEqual(overTheWire(decodeResponse(overTheWire(body))), overTheWire(result))
      }),
      { numRuns: 500 },
    )
  })

  it('writes a completion under the model id that the client knows', () => {
    assert.deepEqual(encode({}), {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'public-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
  })

  it('has content and refusal even when there are none, as typed clients expect', () => {
    assert.deepEqual(messageOf([]), { role: 'assistant', content: null, refusal: null })
  })

  it('joins texts that another format had in several parts', () => {
    const message = messageOf([
      { type: 'reasoning', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'reasoning', text: 'c' },
      { type: 'text', text: 'd' },
    ])
    assert.deepEqual(message, { role: 'assistant', content: 'bd', refusal: null, reasoning_content: 'ac' })
  })

  it('has no usage when nobody reported any', () => {
    assert.equal('usage' in encode({ usage: undefined }), false)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Result } from '#core/result.ts'
import { anyResult } from '../../../test/support/arbitrary-generate-content.ts'
import { decodeResponse } from './decode-response.ts'
import { encodeResponse } from './encode-response.ts'

const RESULT: Result = {
  id: 'resp-1',
  model: 'upstream-model',
  createdAt: 0,
  choices: [{ index: 0, parts: [{ type: 'text', text: 'Hello' }], finish: { reason: 'stop', raw: 'end_turn' } }],
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
  extensions: {},
}

function encode(fields: Partial<Result>): Record<string, unknown> {
  return encodeResponse({ ...RESULT, ...fields }, { publicModel: 'public-model', wantsStreamUsage: false })
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

  it('writes an answer under the model id that the client knows', () => {
    assert.deepEqual(encode({}), {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
      modelVersion: 'public-model',
      responseId: 'resp-1',
    })
  })

  it('has a first part even when nothing was said, since clients read it without asking', () => {
    const { candidates } = encode({ choices: [{ index: 0, parts: [], finish: { reason: 'length', raw: undefined } }] })
    assert.deepEqual(candidates, [
      { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'MAX_TOKENS', index: 0 },
    ])
  })

  it('stops like any other answer when it calls tools, and gives arguments as an object', () => {
    const { candidates } = encode({
      choices: [
        {
          index: 0,
          parts: [
            { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{"a":1}', signature: 's' },
          ],
          finish: { reason: 'tool-calls', raw: 'tool_calls' },
        },
      ],
    })
    assert.deepEqual(candidates, [
      {
        content: {
          role: 'model',
          parts: [{ functionCall: { id: 'call_1', name: 'f', args: { a: 1 } }, thoughtSignature: 's' }],
        },
        finishReason: 'STOP',
        index: 0,
      },
    ])
  })

  it('says that a refusal of another format was one, in its words', () => {
    const parts = [{ type: 'refusal', text: 'I will not.' }] as const
    const { candidates } = encode({ choices: [{ index: 0, parts, finish: { reason: 'refusal', raw: 'refusal' } }] })
    assert.deepEqual(candidates, [
      { content: { role: 'model', parts: [{ text: 'I will not.' }] }, finishReason: 'SAFETY', index: 0 },
    ])
  })

  it('has no usage when nobody reported any', () => {
    assert.equal('usageMetadata' in encode({ usage: undefined }), false)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TYPICAL } from '../token-estimate.ts'
import { estimate } from './estimate.ts'
import type { ResponsesRequest } from './schema.ts'

const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }

function inputOf(fields: Partial<ResponsesRequest>): number | undefined {
  return estimate({ model: 'm', ...fields }, UNLIMITED).inputTokens
}

function outputOf(fields: Partial<ResponsesRequest>, maxOutputTokens?: number): number | undefined {
  return estimate({ model: 'm', ...fields }, { contextLength: undefined, maxOutputTokens }).outputTokens
}

const jsonTokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4)

describe('the estimate of a request for a response', () => {
  it('counts text by its UTF-8 bytes, and something for every item', () => {
    assert.equal(inputOf({ input: 'x'.repeat(400) }), 100 + TYPICAL.message)
    assert.equal(inputOf({ input: '€'.repeat(400) }), 300 + TYPICAL.message)
    assert.equal(inputOf({ instructions: 'abcd', input: 'abcd' }), 2 + 2 * TYPICAL.message)
    assert.equal(inputOf({ input: [{ role: 'user', content: 'abcd' }] }), 1 + TYPICAL.message)
    assert.equal(inputOf({}), 0)
  })

  it('counts media by their kind, not by the length of their base64', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(1_000_000)}` }
    const audio = { type: 'input_audio', input_audio: { data: 'A'.repeat(3200), format: 'wav' } }
    const content = [{ type: 'input_text', text: 'abcd' }, image, audio, { type: 'refusal', refusal: 'abcd' }]
    const tokens = 1 + TYPICAL.image + 3 + 1
    assert.equal(inputOf({ input: [{ role: 'user', content }] }), TYPICAL.message + tokens)
    assert.equal(inputOf({ input: [{ type: 'function_call_output', output: content }] }), TYPICAL.message + tokens)
  })

  it('counts tools and every item by what it says', () => {
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
    assert.equal(inputOf({ input: [call], tools }), TYPICAL.message + jsonTokens(call) + jsonTokens(tools))
  })

  it('is never more than the model takes in', () => {
    const limits = { contextLength: 64, maxOutputTokens: undefined }
    assert.equal(estimate({ model: 'm', input: 'x'.repeat(4000) }, limits).inputTokens, 64)
  })

  it('allows the output that was asked for, up to what the model can say', () => {
    assert.equal(outputOf({ max_output_tokens: 10 }, 1000), 10)
    assert.equal(outputOf({ max_output_tokens: 5000 }, 1000), 1000)
    assert.equal(outputOf({ max_output_tokens: null }, 1000), 1000)
    assert.equal(outputOf({}), 4096)
  })
})

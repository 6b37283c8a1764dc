import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TYPICAL } from '../token-estimate.ts'
import { estimate } from './estimate.ts'
import type { ChatCompletionsRequest } from './schema.ts'

const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }

function inputOf(messages: ChatCompletionsRequest['messages'], limits = UNLIMITED): number | undefined {
  return estimate({ model: 'm', messages }, limits).inputTokens
}

function outputOf(fields: Partial<ChatCompletionsRequest>, maxOutputTokens?: number): number | undefined {
  return estimate({ model: 'm', messages: [], ...fields }, { contextLength: undefined, maxOutputTokens }).outputTokens
}

describe('the estimate of a chat request', () => {
  it('counts text by its UTF-8 bytes, and something for every message', () => {
    assert.equal(inputOf([{ role: 'user', content: 'x'.repeat(400) }]), 100 + TYPICAL.message)
    assert.equal(inputOf([{ role: 'user', content: '€'.repeat(400) }]), 300 + TYPICAL.message)
    assert.equal(inputOf([{ role: 'assistant', content: null }, { role: 'user' }]), 2 * TYPICAL.message)
  })

  it('counts media by their kind, not by the length of their base64', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` } }
    const audio = { type: 'input_audio', input_audio: { data: 'A'.repeat(3200), format: 'wav' } }
    const text = { type: 'text', text: 'abcd' }
    assert.equal(inputOf([{ role: 'user', content: [text, image, audio] }]), TYPICAL.message + 1 + TYPICAL.image + 3)
  })

  it('counts tools and tool calls', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const tool_calls = [{ id: 'call_1', function: { name: 'f', arguments: '{}' } }]
    const messages = [{ role: 'assistant', tool_calls }]
    const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4)
    assert.equal(
      estimate({ model: 'm', messages, tools }, UNLIMITED).inputTokens,
      TYPICAL.message + tokens(tools) + tokens(tool_calls),
    )
  })

  it('is never more than the model takes in', () => {
    const messages = [{ role: 'user', content: 'x'.repeat(4000) }]
    assert.equal(inputOf(messages, { ...UNLIMITED, contextLength: 64 } as never), 64)
  })

  it('allows the output that was asked for, up to what the model can say, for each answer', () => {
    assert.equal(outputOf({ max_completion_tokens: 10, max_tokens: 99 }), 10)
    assert.equal(outputOf({ max_completion_tokens: null, max_tokens: 20 }), 20)
    assert.equal(outputOf({ max_tokens: 5000 }, 1000), 1000)
    assert.equal(outputOf({}, 1000), 1000)
    assert.equal(outputOf({ n: 3, max_tokens: 10 }, 1000), 30)
    assert.equal(outputOf({}), 4096)
  })
})

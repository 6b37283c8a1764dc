import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TYPICAL } from '../token-estimate.ts'
import { estimate } from './estimate.ts'
import type { MessagesRequest } from './schema.ts'

const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }
const BODY: MessagesRequest = { model: 'm', max_tokens: 10, messages: [] }

function inputOf(
  content: string | { type: string; [field: string]: unknown }[],
  fields: Partial<MessagesRequest> = {},
) {
  const usage = estimate({ ...BODY, messages: [{ role: 'user', content }], ...fields }, UNLIMITED)
  return (usage.inputTokens ?? 0) - TYPICAL.message
}

const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4)

describe('the estimate of a messages request', () => {
  it('counts text by its UTF-8 bytes, the system prompt too', () => {
    assert.equal(inputOf('x'.repeat(400)), 100)
    assert.equal(inputOf([{ type: 'text', text: '€'.repeat(400) }]), 300)
    assert.equal(inputOf('', { system: 'x'.repeat(40) }), 10)
    const text = { type: 'text', text: 'x'.repeat(40) }
    assert.equal(inputOf('', { system: [text] }), 10)
  })

  it('counts media by their kind, not by the length of their base64', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1_000_000) }
    assert.equal(inputOf([{ type: 'image', source }]), TYPICAL.image)
    assert.equal(inputOf([{ type: 'document', source: { type: 'text', data: 'x'.repeat(40) } }]), 10)
  })

  it('counts what is in results, thoughts, calls and tools', () => {
    const inner = [{ type: 'text', text: 'abcd' }]
    assert.equal(inputOf([{ type: 'tool_result', tool_use_id: 'a', content: inner }]), 1)
    assert.equal(inputOf([{ type: 'tool_result', tool_use_id: 'a' }]), 0)
    assert.equal(inputOf([{ type: 'thinking', thinking: 'abcd', signature: 's' }]), 1)
    assert.equal(inputOf([{ type: 'redacted_thinking', data: 'abcd' }]), 1)
    const call = { type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } }
    assert.equal(inputOf([call]), tokens(call))
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    assert.equal(inputOf('', { tools }), tokens(tools))
  })

  it('is never more than the model takes in or can say', () => {
    const limits = { contextLength: 64, maxOutputTokens: 8 }
    const usage = estimate({ ...BODY, messages: [{ role: 'user', content: 'x'.repeat(4000) }] }, limits)
    assert.deepEqual(usage, { inputTokens: 64, outputTokens: 8 })
    assert.equal(estimate(BODY, UNLIMITED).outputTokens, 10)
  })
})

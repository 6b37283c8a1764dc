import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { Result } from '#core/result.ts'
import { anyResult } from '../../../test/support/arbitrary-messages.ts'
import { decodeResponse } from './decode-response.ts'
import { encodeResponse } from './encode-response.ts'

const RESULT: Result = {
  id: 'msg_1',
  model: 'upstream-model',
  createdAt: 1_700_000_000,
  choices: [{ index: 0, parts: [{ type: 'text', text: 'Hello' }], finish: { reason: 'stop', raw: 'stop' } }],
  usage: { inputTokens: 10, cacheReadTokens: 4, outputTokens: 2, totalTokens: 12 },
  extensions: {},
}

function encode(fields: Partial<Result>): Record<string, unknown> {
  return encodeResponse({ ...RESULT, ...fields }, { publicModel: 'public-model', wantsStreamUsage: false })
}

function answerOf(parts: readonly Part[]): Record<string, unknown> {
  return encode({ choices: [{ index: 0, parts, finish: { reason: 'stop', raw: 'stop' } }] })
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

  it('writes a message under the model id that the client knows', () => {
    assert.deepEqual(encode({}), {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'public-model',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 2 },
    })
  })

  it('says that tools are called when they are, whatever the reason was called', () => {
    const call: Part = { type: 'tool-call', kind: 'custom', id: 'a', name: 'f', arguments: 'ls' }
    const { content, stop_reason } = answerOf([call])
    assert.deepEqual(
      [content, stop_reason],
      [[{ type: 'tool_use', id: 'a', name: 'f', input: { input: 'ls' } }], 'tool_use'],
    )
  })

  it('gives thoughts without a seal an empty one, and refusals and sound as text', () => {
    const { content } = answerOf([
      { type: 'reasoning', text: 'a' },
      { type: 'refusal', text: 'No.' },
      { type: 'audio', source: { kind: 'base64', mediaType: undefined, data: '' }, transcript: 'Hm.' },
      { type: 'opaque', format: 'responses', value: {} },
    ])
    assert.deepEqual(content, [
      { type: 'thinking', thinking: 'a', signature: '' },
      { type: 'text', text: 'No.' },
      { type: 'text', text: 'Hm.' },
    ])
  })

  it('cites pages that another format cited', () => {
    const { content } = answerOf([{ type: 'text', text: 'x', citations: [{ url: 'https://a.example', title: 'A' }] }])
    assert.deepEqual((content as { citations: unknown }[])[0]?.citations, [
      { type: 'web_search_result_location', url: 'https://a.example', title: 'A', cited_text: '', encrypted_index: '' },
    ])
  })

  it('has both counts even when nobody reported any, since clients read them without asking', () => {
    assert.deepEqual(encode({ usage: undefined }).usage, { input_tokens: 0, output_tokens: 0 })
  })
})

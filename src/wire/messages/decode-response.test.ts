import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeResponse } from './decode-response.ts'

function partsOf(...content: unknown[]): readonly Part[] {
  return decodeResponse({ id: 'msg_1', content, stop_reason: 'end_turn' }).choices[0]?.parts ?? []
}

describe('decodeResponse', () => {
  it('reads a whole message', () => {
    const result = decodeResponse({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [{ type: 'text', text: 'Hi', citations: null }],
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: { type: 'refusal', category: 'x' },
      container: null,
      usage: {
        input_tokens: 1,
        cache_read_input_tokens: 2,
        output_tokens: 3,
        service_tier: 'standard',
        server_tool_use: { web_search_requests: 1 },
      },
    })
    assert.deepEqual(
      { ...result, usage: [result.usage?.inputTokens, result.usage?.outputTokens] },
      {
        id: 'msg_1',
        model: 'claude',
        createdAt: 0,
        choices: [{ index: 0, parts: [{ type: 'text', text: 'Hi' }], finish: { reason: 'refusal', raw: 'refusal' } }],
        usage: [3, 3],
        serviceTier: 'default',
        extensions: {
          messages: {
            stop_details: { type: 'refusal', category: 'x' },
            usage: { server_tool_use: { web_search_requests: 1 } },
          },
        },
      },
    )
  })

  it('tells the pages that are cited to everyone, and all citations to its own', () => {
    const citations = [
      {
        type: 'web_search_result_location',
        url: 'https://a.example',
        title: 'A',
        encrypted_index: 'e',
        cited_text: 'x',
      },
      { type: 'page_location', document_index: 0, cited_text: 'y' },
    ]
    assert.deepEqual(partsOf({ type: 'text', text: 'x', citations }), [
      {
        type: 'text',
        text: 'x',
        citations: [{ url: 'https://a.example', title: 'A' }],
        extensions: { messages: { citations } },
      },
    ])
  })

  it('reads what hosts in its image send instead', () => {
    assert.deepEqual(
      partsOf(
        { type: 'tool_use', name: 'f', input: '{"a":1}' },
        { type: 'tool_use', id: 'b', name: 'g' },
        { type: 'text' },
      ),
      [
        { type: 'tool-call', kind: 'function', id: 'toolu_msg_1_0', name: 'f', arguments: '{"a":1}' },
        { type: 'tool-call', kind: 'function', id: 'b', name: 'g', arguments: '{}' },
        { type: 'text', text: '' },
      ] satisfies Part[],
    )
    assert.deepEqual(partsOf('x', null), [])
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    const error = { type: 'error', error: { type: 'api_error', message: 'x' } }
    for (const body of [error, { id: 'x' }, [], 'text', undefined, { content: {} }]) {
      assert.throws(
        () => decodeResponse(body),
        (thrown: unknown) => thrown instanceof Fault && thrown.code === 'upstream_error',
      )
    }
    assert.throws(
      () => decodeResponse({ ...error, error: { type: 'overloaded_error' } }),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === 'all_channels_failed',
    )
  })
})

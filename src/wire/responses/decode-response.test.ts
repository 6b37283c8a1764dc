import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeResponse } from './decode-response.ts'

function partsOf(...output: unknown[]): readonly Part[] {
  return decodeResponse({ status: 'completed', output }).choices[0]?.parts ?? []
}

describe('decodeResponse', () => {
  it('reads a whole response', () => {
    const logprob = { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1 }] }
    const result = decodeResponse({
      id: 'resp_1',
      object: 'response',
      created_at: 1_700_000_000,
      status: 'incomplete',
      error: null,
      incomplete_details: { reason: 'max_output_tokens' },
      model: 'gpt-5',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'incomplete',
          content: [{ type: 'output_text', text: 'a', annotations: [], logprobs: [logprob] }],
        },
      ],
      output_text: 'a',
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      service_tier: 'default',
      previous_response_id: null,
      truncation: 'disabled',
    })
    assert.deepEqual(
      { ...result, usage: result.usage?.totalTokens },
      {
        id: 'resp_1',
        model: 'gpt-5',
        createdAt: 1_700_000_000,
        serviceTier: 'default',
        choices: [
          {
            index: 0,
            parts: [{ type: 'text', text: 'a' }],
            finish: { reason: 'length', raw: 'max_output_tokens' },
            logprobs: [{ token: 'a', logprob: -0.5, bytes: [97], top: [{ token: 'b', logprob: -1 }] }],
          },
        ],
        usage: 3,
        extensions: { responses: { truncation: 'disabled' } },
      },
    )
  })

  it('keeps items and their parts in their order', () => {
    const search = { type: 'web_search_call', id: 'ws_1' }
    const parts = partsOf(
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
      search,
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
      },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"x":' },
    )
    assert.deepEqual(parts, [
      { type: 'reasoning', text: '', encrypted: 'sealed' },
      { type: 'opaque', format: 'responses', value: search },
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'b' },
      { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{"x":' },
    ])
  })

  it('reads citations, and keeps the annotations that only this format knows', () => {
    const file = { type: 'file_citation', file_id: 'f', index: 0 }
    const url = { type: 'url_citation', url: 'https://example.com', title: 'x', start_index: 0, end_index: 3 }
    assert.deepEqual(
      partsOf({ type: 'message', content: [{ type: 'output_text', text: 'a', annotations: [file, url] }] }),
      [
        {
          type: 'text',
          text: 'a',
          citations: [{ url: 'https://example.com', title: 'x', startIndex: 0, endIndex: 3 }],
          extensions: { responses: { annotations: [file] } },
        },
      ],
    )
  })

  it('bears with hosts that leave things out or send an object for arguments', () => {
    const [call] = partsOf({ type: 'function_call', id: 'only_id', name: 'f', arguments: { x: 1 } }, null)
    assert.deepEqual(call, { type: 'tool-call', kind: 'function', id: 'only_id', name: 'f', arguments: '{"x":1}' })
    const { id, model, createdAt, usage, choices } = decodeResponse({ output: [] })
    assert.deepEqual([id, model, createdAt, usage], ['', '', 0, undefined])
    assert.deepEqual(choices, [{ index: 0, parts: [], finish: { reason: 'other', raw: undefined } }])
  })

  it('says that tools are called when a completed response has calls', () => {
    const { choices } = decodeResponse({
      status: 'completed',
      output: [{ type: 'custom_tool_call', call_id: 'c', name: 'f', input: 'ls' }],
    })
    assert.deepEqual(choices[0]?.finish, { reason: 'tool-calls', raw: 'completed' })
  })

  it('refuses a failed response, an error and what is no response', () => {
    const refused = (body: unknown) => {
      try {
        decodeResponse(body)
      } catch (error) {
        assert.ok(error instanceof Fault)
        return error.code
      }
      assert.fail('it was accepted')
    }
    const failed = { status: 'failed', output: [], error: { code: 'context_length_exceeded', message: 'x' } }
    assert.equal(refused(failed), 'context_length_exceeded')
    assert.equal(refused({ status: 'failed', output: [], error: null }), 'upstream_error')
    for (const body of [{ error: { message: 'x' } }, { choices: [] }, [], null, 'x']) {
      assert.equal(refused(body), 'upstream_error')
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Part } from '#core/call.ts'
import type { FinishReason, Result } from '#core/result.ts'
import { anyResponsesResult } from '../../../test/support/arbitrary-responses.ts'
import { decodeResponse } from './decode-response.ts'
import { encodeResponse } from './encode-response.ts'

type Json = Record<string, unknown>

function resultOf(parts: readonly Part[], reason: FinishReason = 'stop'): Result {
  return {
    id: 'resp_1',
    model: 'upstream-model',
    createdAt: 1_700_000_000,
    choices: [{ index: 0, parts, finish: { reason, raw: undefined } }],
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    extensions: {},
  }
}

function encode(result: Result): Json {
  return encodeResponse(result, { publicModel: 'public-model', wantsStreamUsage: false })
}

function outputOf(...parts: Part[]): Json[] {
  return encode(resultOf(parts)).output as Json[]
}

function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

const HELLO: Part = { type: 'text', text: 'Hello' }

describe('encodeResponse', () => {
  it('is undone by decodeResponse for every answer that the format can carry', () => {
    fc.assert(
      fc.property(anyResponsesResult, result => {
        const body = encodeResponse(result, { publicModel: result.model, wantsStreamUsage: false })
        assert.deepEqual(overTheWire(decodeResponse(overTheWire(body))), overTheWire(result))
      }),
      { numRuns: 500 },
    )
  })

  it('repeats what the request asked for', () => {
    const request = { instructions: 'Be brief.', temperature: 0.5, store: false, tools: null, input: 'Hello' }
    const body = encodeResponse(resultOf([HELLO]), { publicModel: 'm', wantsStreamUsage: false, request })
    assert.deepEqual(
      [body.instructions, body.temperature, body.store, body.tools, body.top_p, 'input' in body],
      ['Be brief.', 0.5, false, [], null, false],
    )
  })

  it('writes a response under the model id that the client knows, with all that typed clients read', () => {
    assert.deepEqual(encode(resultOf([HELLO])), {
      id: 'resp_1',
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'public-model',
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      output: [
        {
          id: 'msg_1_0',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
        },
      ],
      usage: {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 3,
      },
    })
    assert.equal(encode({ ...resultOf([]), usage: undefined }).usage, null)
    assert.deepEqual(encode({ ...resultOf([]), choices: [] }).output, [])
  })

  it('gives a call an item id beside the id under which its result will come', () => {
    assert.deepEqual(
      outputOf(
        { type: 'reasoning', text: '', encrypted: 'sealed' },
        { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'tool-call', kind: 'custom', id: 'call_2', name: 'g', arguments: 'ls' },
      ),
      [
        { id: 'rs_1_0', type: 'reasoning', summary: [], encrypted_content: 'sealed' },
        { id: 'fc_1_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
        { id: 'ctc_1_2', type: 'custom_tool_call', call_id: 'call_2', name: 'g', input: 'ls', status: 'completed' },
      ],
    )
  })

  it('goes under the id that the gateway states, which its items follow, and says what is kept', () => {
    const stated = { id: 'resp_9', store: true, previous_response_id: 'resp_8' }
    const body = encodeResponse(resultOf([HELLO]), { publicModel: 'm', wantsStreamUsage: false, stated })
    assert.deepEqual([body.id, body.store, body.previous_response_id], ['resp_9', true, 'resp_8'])
    assert.equal((body.output as Json[])[0]?.id, 'msg_9_0')
  })

  it('puts texts and refusals that follow each other into one message', () => {
    const [message, second] = outputOf(HELLO, { type: 'refusal', text: 'No.' })
    assert.deepEqual(
      (message as { content: Json[] }).content.map(part => part.type),
      ['output_text', 'refusal'],
    )
    assert.equal(second, undefined)
  })

  it('says in its status why an answer broke off', () => {
    const ending = (reason: FinishReason) => {
      const { status, incomplete_details, output } = encode(resultOf([HELLO], reason))
      return [status, incomplete_details, (output as Json[])[0]?.status]
    }
    assert.deepEqual(ending('length'), ['incomplete', { reason: 'max_output_tokens' }, 'incomplete'])
    assert.deepEqual(ending('refusal'), ['incomplete', { reason: 'content_filter' }, 'incomplete'])
    assert.deepEqual(ending('tool-calls'), ['completed', null, 'completed'])
    assert.equal(ending('error')[0], 'failed')
  })

  it('tells of an image that the model drew as of a call of the tool that draws', () => {
    const image = (source: Extract<Part, { type: 'image' }>['source']): Part => ({ type: 'image', source })
    const drawn = image({ kind: 'base64', mediaType: 'image/png', data: 'AAAA' })
    const [, call, ...others] = outputOf(HELLO, drawn, image({ kind: 'url', url: 'https://a.test/' }))
    assert.deepEqual(call, { id: 'ig_1_1', type: 'image_generation_call', result: 'AAAA', status: 'completed' })
    assert.deepEqual(others, [])
  })

  it('says what a spoken answer said', () => {
    const [message] = outputOf({
      type: 'audio',
      source: { kind: 'base64', mediaType: undefined, data: 'AA==' },
      transcript: 'Hello',
    })
    assert.equal((message as { content: Json[] }).content[0]?.text, 'Hello')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeResponse } from './decode-response.ts'

function partsOf(message: Record<string, unknown>): readonly Part[] {
  return decodeResponse({ choices: [{ index: 0, message, finish_reason: 'stop' }] }).choices[0]?.parts ?? []
}

describe('decodeResponse', () => {
  it('reads a whole completion', () => {
    const result = decodeResponse({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'gpt-5',
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      x_vendor: null,
      choices: [
        {
          index: 1,
          message: { role: 'assistant', content: 'b', refusal: null },
          logprobs: null,
          finish_reason: 'length',
        },
        {
          index: 0,
          message: { role: 'assistant', content: 'a' },
          logprobs: {
            content: [
              { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1, bytes: null }] },
            ],
          },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
    assert.deepEqual(
      { ...result, usage: result.usage?.totalTokens },
      {
        id: 'chatcmpl-1',
        model: 'gpt-5',
        createdAt: 1_700_000_000,
        serviceTier: 'default',
        choices: [
          { index: 1, parts: [{ type: 'text', text: 'b' }], finish: { reason: 'length', raw: 'length' } },
          {
            index: 0,
            parts: [{ type: 'text', text: 'a' }],
            finish: { reason: 'stop', raw: 'stop' },
            logprobs: [{ token: 'a', logprob: -0.5, bytes: [97], top: [{ token: 'b', logprob: -1 }] }],
          },
        ],
        usage: 3,
        extensions: { 'chat-completions': { system_fingerprint: 'fp_1' } },
      },
    )
  })

  it('reads thoughts that stand among texts, as Mistral has them', () => {
    const thinking = [{ type: 'text', text: 'Hm.' }, null]
    const content = [{ type: 'thinking', thinking }, { type: 'text', text: 'Hi' }, { type: 'reference' }, null]
    assert.deepEqual(partsOf({ content }), [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Hi' },
      { type: 'opaque', format: 'chat-completions', value: { type: 'reference' } },
    ])
  })

  it('puts reasoning first, then text with its citations, refusal, audio and tool calls', () => {
    const parts = partsOf({
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 'call_2', type: 'custom', custom: { name: 'g', input: 'x' } },
      ],
      audio: { id: 'audio_1', data: 'AAAA', transcript: 'hi', expires_at: 1 },
      refusal: 'no',
      content: 'text',
      annotations: [
        { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 } },
        { type: 'something_else' },
      ],
      reasoning_content: 'thought',
    })
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'thought' },
      {
        type: 'text',
        text: 'text',
        citations: [{ url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 4 }],
      },
      { type: 'refusal', text: 'no' },
      { type: 'audio', source: { kind: 'base64', mediaType: undefined, data: 'AAAA' }, transcript: 'hi' },
      { type: 'tool-call', kind: 'function', id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { type: 'tool-call', kind: 'custom', id: 'call_2', name: 'g', arguments: 'x' },
    ] satisfies Part[])
  })

  it('reads what hosts that are not OpenAI send instead', () => {
    assert.deepEqual(partsOf({ reasoning: 'thought', content: '' }), [{ type: 'reasoning', text: 'thought' }])
    assert.deepEqual(partsOf({ tool_calls: [{ id: 'c', function: { name: 'f', arguments: { a: 1 } } }] }), [
      { type: 'tool-call', kind: 'function', id: 'c', name: 'f', arguments: '{"a":1}' },
    ] satisfies Part[])
    assert.deepEqual(partsOf({ function_call: { name: 'f', arguments: '{}' } }), [
      { type: 'tool-call', kind: 'function', id: 'f', name: 'f', arguments: '{}' },
    ] satisfies Part[])
  })

  it('reads content that is a list, in which thoughts stand among words', () => {
    const citation = { url: 'https://a.test/', title: 'A', start_index: 0, end_index: 4 }
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'Two ' },
          { type: 'text', text: 'twos.' },
        ],
      },
      { type: 'text', text: 'Four.' },
      { type: 'thinking', thinking: 'Sure?' },
      { type: 'text', text: 'Yes.' },
      { type: 'reference', reference_ids: [1] },
    ]
    assert.deepEqual(partsOf({ content, annotations: [{ type: 'url_citation', url_citation: citation }] }), [
      { type: 'reasoning', text: 'Two twos.' },
      { type: 'text', text: 'Four.' },
      { type: 'reasoning', text: 'Sure?' },
      { type: 'text', text: 'Yes.', citations: [{ url: 'https://a.test/', title: 'A', startIndex: 0, endIndex: 4 }] },
      { type: 'opaque', format: 'chat-completions', value: { type: 'reference', reference_ids: [1] } },
    ] satisfies Part[])
  })

  it('cites the sources that a host names beside its answer, unless the message has citations of its own', () => {
    const citations = ['https://a.test/', 'https://b.test/', 5]
    const search_results = [{ url: 'https://b.test/', title: 'B' }]
    const cited = (message: object) =>
      decodeResponse({ choices: [{ message }], citations, search_results }).choices[0]?.parts
    assert.deepEqual(cited({ content: 'Said [1][2].' }), [
      {
        type: 'text',
        text: 'Said [1][2].',
        citations: [{ url: 'https://a.test/' }, { url: 'https://b.test/', title: 'B' }],
      },
    ])
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://c.test/' } }]
    assert.deepEqual(cited({ content: 'Said.', annotations }), [
      { type: 'text', text: 'Said.', citations: [{ url: 'https://c.test/' }] },
    ])
  })

  it('makes nothing of fields that a host writes out empty', () => {
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: '{}' },
      custom: { name: '', input: '' },
    }
    const message = {
      content: '',
      refusal: '',
      audio: { id: '', data: '', transcript: '', expires_at: 0 },
      function_call: { name: '', arguments: '' },
      tool_calls: [call],
    }
    const { choices } = decodeResponse({ choices: [{ index: 0, finish_reason: '', message }] })
    assert.deepEqual(choices[0]?.parts, [
      { type: 'tool-call', kind: 'function', id: 'c', name: 'f', arguments: '{}' },
    ] satisfies Part[])
    assert.equal(choices[0]?.finish.reason, 'tool-calls')
  })

  it('counts choices that have no index by their place, and survives one without a message', () => {
    const { choices } = decodeResponse({ choices: [{ message: { content: 'a' } }, { finish_reason: null }] })
    assert.deepEqual(
      choices.map(({ index, parts, finish }) => [index, parts.length, finish.reason]),
      [
        [0, 1, 'other'],
        [1, 0, 'other'],
      ],
    )
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    for (const body of [{ error: { message: 'overloaded' } }, { id: 'x' }, [], 'text', undefined, { choices: {} }]) {
      assert.throws(
        () => decodeResponse(body),
        (error: unknown) => error instanceof Fault && error.code === 'upstream_error',
      )
    }
    assert.throws(
      () => decodeResponse({ error: { code: 'context_length_exceeded', message: 'Too long.' }, choices: [] }),
      (error: unknown) => error instanceof Fault && error.code === 'context_length_exceeded',
    )
  })
})

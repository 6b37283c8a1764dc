import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { decodeResponse } from './decode-response.ts'
import { encodeResponse } from './encode-response.ts'

type Json = Record<string, unknown>

function partsOf(parts: unknown[], fields: Json = {}): readonly Part[] {
  const candidate = { content: { role: 'model', parts }, finishReason: 'STOP', index: 0, ...fields }
  return decodeResponse({ candidates: [candidate], responseId: 'r/1' }).choices[0]?.parts ?? []
}

describe('decodeResponse', () => {
  it('reads a whole answer', () => {
    const result = decodeResponse({
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'a' }] },
          finishReason: 'MAX_TOKENS',
          index: 0,
          logprobsResult: {
            chosenCandidates: [{ token: 'a', logProbability: -0.5 }],
            topCandidates: [{ candidates: [{ token: 'b', logProbability: -1 }] }],
          },
          safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
      modelVersion: 'gemini-x',
      responseId: 'resp-1',
      createTime: '2023-11-14T22:13:20.123Z',
      x_vendor: 1,
    })
    assert.deepEqual(
      { ...result, usage: result.usage?.totalTokens },
      {
        id: 'resp-1',
        model: 'gemini-x',
        createdAt: 1_700_000_000,
        choices: [
          {
            index: 0,
            parts: [{ type: 'text', text: 'a' }],
            finish: { reason: 'length', raw: 'MAX_TOKENS' },
            logprobs: [{ token: 'a', logprob: -0.5, top: [{ token: 'b', logprob: -1 }] }],
          },
        ],
        usage: 3,
        extensions: {
          'generate-content': {
            x_vendor: 1,
            candidates: [{ safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }] }],
          },
        },
      },
    )
  })

  it('reads thoughts, signatures, media, code and calls, in their order', () => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
    const parts = partsOf([
      { text: 'thought', thought: true, thoughtSignature: 's1' },
      { text: 'text' },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 's2' },
      code,
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's3' },
      { functionCall: { id: 'given', name: 'g' } },
      { functionCall: { name: 'f', args: {} } },
    ])
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'thought', signature: 's1' },
      { type: 'text', text: 'text' },
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      { type: 'opaque', format: 'generate-content', value: { thoughtSignature: 's2' } },
      { type: 'opaque', format: 'generate-content', value: code },
      { type: 'tool-call', kind: 'function', id: 'call_r1_0', name: 'f', arguments: '{"a":1}', signature: 's3' },
      { type: 'tool-call', kind: 'function', id: 'given', name: 'g', arguments: '{}' },
      { type: 'tool-call', kind: 'function', id: 'call_r1_2', name: 'f', arguments: '{}' },
    ] satisfies Part[])
  })

  it('joins pieces of one text, and a signature that comes after it', () => {
    assert.deepEqual(partsOf([{ text: 'a' }, { text: 'b' }, { text: '', thoughtSignature: 's' }, { text: 'c' }]), [
      { type: 'text', text: 'ab', signature: 's' },
      { type: 'text', text: 'c' },
    ])
    assert.deepEqual(partsOf([{ text: '' }]), [])
  })

  it('takes a stop with function calls for what it is', () => {
    const finishOf = (parts: unknown[], finishReason: string) =>
      decodeResponse({ candidates: [{ content: { parts }, finishReason }] }).choices[0]?.finish.reason
    assert.equal(finishOf([{ functionCall: { name: 'f' } }], 'STOP'), 'tool-calls')
    assert.equal(finishOf([{ functionCall: { name: 'f' } }], 'MAX_TOKENS'), 'length')
    assert.equal(finishOf([{ text: 'x' }], 'STOP'), 'stop')
  })

  it('reads a blocked prompt as a refusal, and gives it back as it came', () => {
    const body = {
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT', safetyRatings: [] },
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 0, totalTokenCount: 5 },
      modelVersion: 'm',
    }
    const result = decodeResponse(body)
    assert.deepEqual(result.choices, [
      { index: 0, parts: [], finish: { reason: 'refusal', raw: 'PROHIBITED_CONTENT' } },
    ])
    assert.deepEqual(encodeResponse(result, { publicModel: 'm', wantsStreamUsage: false }), body)
  })

  it('survives an answer that says nothing', () => {
    for (const body of [
      { candidates: [{ finishReason: 'STOP' }] },
      { candidates: [{ content: {}, finishReason: 'STOP', index: 0 }] },
      { candidates: [] },
      { usageMetadata: { promptTokenCount: 5 } },
    ]) {
      const { choices } = decodeResponse(body)
      assert.deepEqual(
        choices.map(({ index, parts }) => [index, parts]),
        [[0, []]],
      )
    }
  })

  it('finds citations in grounding and in citation metadata', () => {
    const groundingMetadata = {
      webSearchQueries: ['q'],
      groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }, { web: { uri: 'https://b.example' } }, {}],
      groundingSupports: [
        { segment: { endIndex: 4 }, groundingChunkIndices: [0] },
        { segment: { startIndex: 4, endIndex: 9 }, groundingChunkIndices: [0] },
      ],
    }
    const citationMetadata = { citationSources: [{ startIndex: 1, endIndex: 2, uri: 'https://c.example' }] }
    const [part] = partsOf([{ text: 'text' }], { groundingMetadata, citationMetadata })
    assert.deepEqual(part?.type === 'text' && part.citations, [
      { url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 4 },
      { url: 'https://a.example', title: 'A', startIndex: 4, endIndex: 9 },
      { url: 'https://b.example' },
      { url: 'https://c.example', startIndex: 1, endIndex: 2 },
    ])
    const whole = { candidates: [{ content: { parts: [{ text: 'text' }] }, groundingMetadata, citationMetadata }] }
    const [candidate] = encodeResponse(decodeResponse(whole), { publicModel: 'm', wantsStreamUsage: false })
      .candidates as Json[]
    assert.deepEqual([candidate?.groundingMetadata, candidate?.citationMetadata], [groundingMetadata, citationMetadata])
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    const error = { error: { code: 500, message: 'overloaded', status: 'INTERNAL' } }
    for (const body of [error, [error], { id: 'x' }, [], 'text', undefined, { candidates: {} }]) {
      assert.throws(
        () => decodeResponse(body),
        (thrown: unknown) => thrown instanceof Fault && thrown.code === 'upstream_error',
      )
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { target } from '../../../test/support/target.ts'
import { embeddingsWork } from './index.ts'

const TARGET = target({ format: 'cohere-embed' })

function exchange(fields: object) {
  return embeddingsWork(Buffer.from(JSON.stringify({ model: 'public-model', input: 'Hi', ...fields }))).encode(TARGET)
}

function sent(fields: object) {
  return JSON.parse(Buffer.from(exchange(fields).body).toString())
}

/** As the reference of `POST /v2/embed` shows it. */
const ANSWER = Buffer.from(
  JSON.stringify({
    id: 'e1',
    embeddings: { float: [[0.5, -1.25]] },
    texts: ['Hi'],
    meta: { api_version: { version: '2' }, billed_units: { input_tokens: 2 } },
  }),
)

describe('embeddings of Cohere', () => {
  it('are asked for in its words, as a document unless the caller says what the text is', () => {
    assert.deepEqual(sent({ dimensions: 256 }), {
      model: 'upstream-model',
      texts: ['Hi'],
      input_type: 'search_document',
      embedding_types: ['float'],
      output_dimension: 256,
    })
    assert.equal(sent({ input_type: 'search_query' }).input_type, 'search_query')
    assert.equal(sent({ truncate: 'NONE' }).truncate, 'NONE')
  })

  it("are given as OpenAI's are, in the encoding that was asked for, with what Cohere bills", () => {
    const { body, observed } = exchange({}).decodeAnswer(ANSWER)
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, -1.25] }],
      model: 'public-model',
      usage: { prompt_tokens: 2, total_tokens: 2 },
    })
    assert.deepEqual(observed.usage, { inputTokens: 2, outputTokens: 0, totalTokens: 2 })
    const packed = exchange({ encoding_format: 'base64' }).decodeAnswer(ANSWER).body
    assert.equal(JSON.parse(Buffer.from(packed).toString()).data[0].embedding, 'AAAAPwAAoL8=')
  })

  it('cannot be made of tokens, and say so', () => {
    assert.throws(
      () => exchange({ input: [1, 2] }),
      (error: unknown) => error instanceof Fault && error.param === 'input',
    )
  })

  it('say it when the answer is none', () => {
    assert.throws(() => exchange({}).decodeAnswer(Buffer.from('{}')), Fault)
  })
})

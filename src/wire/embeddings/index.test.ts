import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import type { Answer } from '#core/work.ts'
import { ROUTING, target } from '../../../test/support/target.ts'
import { embeddingsWork } from './index.ts'

const TARGET = target({ format: 'embeddings' })
const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }

function work(fields: Record<string, unknown> = {}) {
  return embeddingsWork(Buffer.from(JSON.stringify({ model: 'public-model', input: 'Hi', ...fields })))
}

function answer(body: unknown, fields: Record<string, unknown> = {}, to = TARGET): Answer {
  return work(fields)
    .encode(to)
    .decodeAnswer(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
}

function dataOf({ body }: Answer): { embedding: unknown }[] {
  return JSON.parse(Buffer.from(body).toString()).data
}

function base64(values: readonly number[]): string {
  return Buffer.from(Float32Array.from(values).buffer).toString('base64')
}

const list = (...embeddings: unknown[]) => ({
  object: 'list',
  model: 'upstream-model',
  data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  usage: { prompt_tokens: 3, total_tokens: 3 },
})

describe('an embeddings request', () => {
  it('goes to the upstream byte for byte but for the model', () => {
    const text = '{ "input" : ["a", "b"],"model":"public-model","x":1.50}'
    const exchange = embeddingsWork(Buffer.from(text)).encode(TARGET)
    assert.equal(Buffer.from(exchange.body).toString(), text.replace('public', 'upstream'))
    const bytes = Buffer.from(text)
    assert.equal(embeddingsWork(bytes).encode(target({ upstreamModel: 'public-model' })).body, bytes)
  })

  it('may be one text, several, tokens or lists of tokens', () => {
    for (const input of ['a', ['a', 'b'], [1, 2], [[1], [2, 3]]]) assert.equal(work({ input }).scene, 'embedding')
  })

  it('names the field that is at fault', () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ input: undefined }, 'input'],
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: ['a', ''] }, 'input[1]'],
      [{ input: [1.5] }, 'input[0]'],
      [{ input: [[]] }, 'input[0]'],
      [{ model: '' }, 'model'],
      [{ encoding_format: 'int8' }, 'encoding_format'],
      [{ dimensions: 0 }, 'dimensions'],
    ]
    for (const [fields, param] of wrong) {
      assert.throws(
        () => work(fields),
        (error: unknown) => error instanceof Fault && error.code === 'invalid_request' && error.param === param,
        JSON.stringify(fields),
      )
    }
  })

  it('says that an empty list is empty', () => {
    for (const input of [[], [[]]]) assert.throws(() => work({ input }), /must not be empty/)
  })

  it('is estimated by its text or its tokens, each item within what the model takes in', () => {
    const tokens = (input: unknown, contextLength?: number) =>
      work({ input }).estimate({ ...UNLIMITED, contextLength }).inputTokens
    assert.equal(tokens('x'.repeat(40)), 10)
    assert.equal(tokens(['x'.repeat(40), '€€€€']), 13)
    assert.equal(tokens([1, 2, 3]), 3)
    assert.equal(tokens([[1, 2], [3]]), 3)
    assert.equal(tokens(['x'.repeat(40), 'x'.repeat(40)], 8), 16)
    assert.equal(work().estimate(UNLIMITED).outputTokens, 0)
  })

  it('is never streamed', () => {
    assert.throws(() => work().encode(TARGET).openStream(), TypeError)
  })
})

describe('an embeddings answer', () => {
  it('keeps every byte but the model when the vectors are as they were asked for', () => {
    const text = '{"data":[ {"embedding":[0.10,-2e-3]}],\n"model":"upstream-model"}'
    assert.equal(Buffer.from(answer(text).body).toString(), text.replace('upstream', 'public'))
    const packed = text.replace('[0.10,-2e-3]', '"AAAA"')
    assert.equal(
      Buffer.from(answer(packed, { encoding_format: 'base64' }).body).toString(),
      packed.replace('upstream', 'public'),
    )
  })

  it('says where the request went only when that is wanted', () => {
    const { body } = answer(list([1]), {}, target({ routing: ROUTING }))
    assert.deepEqual(JSON.parse(Buffer.from(body).toString())._routing, ROUTING)
  })

  it('packs floats for a client that asked for base64, as SDKs do without saying', () => {
    const data = dataOf(answer(list([0.5, -1], [2, 3]), { encoding_format: 'base64' }))
    assert.deepEqual(data, [
      { object: 'embedding', index: 0, embedding: base64([0.5, -1]) },
      { object: 'embedding', index: 1, embedding: base64([2, 3]) },
    ])
  })

  it('unpacks base64 for a client that asked for floats or did not ask', () => {
    for (const encoding_format of ['float', null, undefined]) {
      const [first] = dataOf(answer(list(base64([0.5, -1])), { encoding_format }))
      assert.deepEqual(first?.embedding, [0.5, -1])
    }
  })

  it('changes vectors only in their last bits on the way through base64', () => {
    const vector = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 8 })
    fc.assert(
      fc.property(vector, values => {
        const [packed] = dataOf(answer(list(values), { encoding_format: 'base64' }))
        const [unpacked] = dataOf(answer(list(packed?.embedding)))
        assert.deepEqual(unpacked?.embedding, JSON.parse(JSON.stringify(values)))
      }),
    )
  })

  it('observes input tokens under either name, and takes 0 for not reported', () => {
    const usage = (reported: unknown) => answer({ ...list([1]), usage: reported }).observed.usage
    assert.deepEqual(usage({ prompt_tokens: 3, total_tokens: 3 }), { inputTokens: 3, outputTokens: 0, totalTokens: 3 })
    assert.equal(usage({ total_tokens: 4 })?.inputTokens, 4)
    assert.equal(usage({ prompt_tokens: 0, total_tokens: 4 })?.inputTokens, 4)
    for (const nothing of [undefined, null, {}, { prompt_tokens: 0, total_tokens: 0 }, { prompt_tokens: -1 }]) {
      assert.equal(usage(nothing), undefined)
    }
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    for (const body of [{ error: { message: 'x' } }, { object: 'list' }, [], '<html>', '']) {
      assert.throws(
        () => answer(body),
        (error: unknown) => error instanceof Fault && error.code === 'upstream_error',
      )
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import type { Observed, Target } from '#core/work.ts'
import { anyStreamed } from '../../../test/support/arbitrary-generate-content.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { ROUTING, target } from '../../../test/support/target.ts'
import { encodeStream } from './encode-stream.ts'
import { passThrough } from './pass-through.ts'

const BODY = { model: 'public-model', contents: [{ parts: [{ text: 'Hi' }] }] }

function facts(fields: Record<string, unknown> = {}) {
  return passThrough.readRequest({ ...BODY, ...fields })
}

describe('pass-through of requests', () => {
  it('sends the very bytes, since the model stands in the path', () => {
    const bytes = Buffer.from(
      '{ "contents":[{"parts":[{"text":"é\\u00e9","model":1}]}],"generation_config":{"top_p":0.50} }',
    )
    assert.equal(passThrough.editRequest(bytes, facts(), target()), bytes)
  })

  it('replaces a model that the body names nevertheless', () => {
    const text = '{"model" : "public-model", "contents":[ ]}'
    const edited = passThrough.editRequest(Buffer.from(text), facts(), target()).toString()
    assert.equal(edited, text.replace('public-model', 'upstream-model'))
  })

  it('takes model and stream from the object that it is given', () => {
    const streaming = facts({ stream: true })
    assert.deepEqual([streaming.model, streaming.isStream, streaming.wantsStreamUsage], ['public-model', true, true])
    assert.deepEqual([facts().isStream, facts().wantsStreamUsage], [false, false])
    const limits = { contextLength: undefined, maxOutputTokens: undefined }
    assert.equal(facts({ generation_config: { max_output_tokens: 7 } }).estimate(limits).outputTokens, 7)
  })

  it('refuses a body that no upstream could serve', () => {
    assert.throws(
      () => passThrough.readRequest({ model: 'x' }),
      (error: unknown) => error instanceof Fault && error.param === 'contents',
    )
  })
})

describe('pass-through of whole answers', () => {
  const answer = (text: string, to: Target = target()) => passThrough.editAnswer(Buffer.from(text), to)

  it('replaces the model and keeps every other byte', () => {
    const text = '{"candidates":[ ], "modelVersion":"upstream-model","x":{"modelVersion":"m"},"cost":1.50}\n'
    assert.equal(answer(text).body.toString(), text.replace('"upstream-model"', '"public-model"'))
  })

  it('adds where the request went only when that is wanted, and no model when there is none', () => {
    const body = answer('{"candidates":[]}', target({ routing: ROUTING })).body.toString()
    assert.deepEqual(JSON.parse(body), { candidates: [], _routing: ROUTING })
    assert.equal(answer('{"candidates":[]}').body.toString(), '{"candidates":[]}')
  })

  it('observes usage, and the bytes that were generated', () => {
    const parts = [
      { text: 'é' },
      { text: 'abc', thought: true },
      { functionCall: { name: 'f', args: {} } },
      { executableCode: { code: 'x' } },
      { inlineData: { data: 'AAAA' } },
      null,
    ]
    const candidates = [{ content: { parts } }, { content: { parts: [{ text: 'x' }] } }, null, {}]
    const { observed } = answer(JSON.stringify({ candidates, usageMetadata: { promptTokenCount: 3 } }))
    assert.equal(observed.usage?.inputTokens, 3)
    assert.equal(observed.outputBytes, 2 + 3 + 3 + 1 + 1)
    assert.equal(observed.isFinished, true)
    assert.equal(answer('{"candidates":[]}').observed.usage, undefined)
  })

  it('gives a blocked prompt on as it came', () => {
    const text = '{"promptFeedback":{"blockReason":"SAFETY"}}'
    assert.equal(answer(text).body.toString(), text)
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    for (const text of ['{"error":{"message":"x"}}', '[{"error":{"code":500}}]', '{"id":"x"}', '[]', '<html>', '']) {
      assert.throws(
        () => answer(text),
        (error: unknown) => error instanceof Fault && error.code === 'upstream_error',
      )
    }
  })
})

interface Passed {
  readonly output: string
  readonly observed: Observed
  readonly fault: string | undefined
}

/** What the client gets of a stream, up to its end. */
function pass(pieces: readonly Buffer[], to = target()): Passed {
  const codec = passThrough.editStream(facts({ stream: true }), to)
  const output: Uint8Array[] = []
  for (const piece of pieces) {
    if (codec.fault || codec.hasEnded) break
    output.push(codec.push(piece) ?? Buffer.alloc(0))
  }
  if (!codec.fault) output.push(codec.finish())
  const { usage, outputBytes, isFinished } = codec.observed
  return {
    output: Buffer.concat(output).toString(),
    observed: { usage, outputBytes, isFinished },
    fault: codec.fault?.code,
  }
}

const passText = (text: string, to?: Target) => pass([Buffer.from(text)], to)
const event = (value: unknown) => `data: ${JSON.stringify(value)}\r\n\r\n`
const chunk = (parts: unknown[], fields: object = {}, index = 0) =>
  event({ candidates: [{ content: { parts, role: 'model' }, index, ...fields }], modelVersion: 'upstream-model' })
const STOP = { finishReason: 'STOP' }
const renamed = (text: string) => text.replaceAll('"upstream-model"', '"public-model"')

describe('pass-through of streams', () => {
  it('renames the model in every chunk, keeps every other byte, and adds no end marker', () => {
    const stream = `: hello\n\n${chunk([{ text: 'a' }])}data:{ "modelVersion" : "upstream-model" , "x":1.50 }\n\n${chunk([], STOP)}`
    assert.equal(passText(stream).output, renamed(stream))
  })

  it('leaves chunks without a model alone', () => {
    const stream = 'data: {"candidates":[{"finishReason":"STOP"}]}\n\n'
    assert.equal(passText(stream).output, stream)
  })

  it('says where the request went once, in the first chunk', () => {
    const { output } = passText(chunk([{ text: 'a' }]) + chunk([], STOP), target({ routing: ROUTING }))
    const events = output.split('\r\n\r\n').filter(each => each !== '')
    assert.deepEqual(
      events.map(each => JSON.parse(each.slice(6))._routing),
      [ROUTING, undefined],
    )
  })

  it('believes the last usage, and no broken one', () => {
    const usage = (promptTokenCount: unknown) => event({ usageMetadata: { promptTokenCount } })
    assert.equal(passText(usage(1) + usage(7)).observed.usage?.inputTokens, 7)
    assert.equal(passText(usage(7) + usage(-1)).observed.usage?.inputTokens, 7)
  })

  it('is finished when every candidate has said why, or the prompt was blocked', () => {
    const isFinished = (text: string) => passText(text).observed.isFinished
    assert.equal(isFinished(chunk([{ text: 'a' }])), false)
    assert.equal(isFinished(chunk([{ text: 'a' }]) + chunk([], STOP)), true)
    assert.equal(isFinished(chunk([{ text: 'a' }]) + chunk([{ text: 'b' }], {}, 1) + chunk([], STOP)), false)
    for (const finishReason of ['', 'FINISH_REASON_UNSPECIFIED'])
      assert.equal(isFinished(chunk([], { finishReason })), false)
    assert.equal(isFinished(event({ promptFeedback: { blockReason: 'SAFETY' } })), true)
    assert.equal(isFinished(chunk([{ text: 'a' }], STOP) + event({ usageMetadata: { promptTokenCount: 1 } })), true)
    assert.equal(isFinished(''), false)
  })

  it('stops at an error of the upstream and words faults as events', () => {
    const { output, fault } = passText(
      chunk([{ text: 'a' }]) + event({ error: { code: 503, message: 'x' } }) + chunk([], STOP),
    )
    assert.equal(output, renamed(chunk([{ text: 'a' }])))
    assert.equal(fault, 'all_channels_failed')
    const codec = passThrough.editStream(facts({ stream: true }), target())
    const text = Buffer.from(codec.encodeFault(new Fault('timeout_error', 'Too late.'))).toString()
    assert.match(text, /^data: \{.*\}\n\n$/)
    assert.equal(JSON.parse(text.slice(6)).error.status, 'DEADLINE_EXCEEDED')
  })
})

describe('pass-through of any stream', () => {
  const input = fc.record({ streamed: anyStreamed, lineEnd: fc.constantFrom('\n', '\r\n') })

  /** The events as an upstream would stream them. */
  function bytesOf({ streamed, lineEnd }: typeof input extends fc.Arbitrary<infer T> ? T : never): Buffer {
    const encoder = encodeStream({ publicModel: 'upstream-model', wantsStreamUsage: true })
    const data = streamed.events.flatMap(each => encoder.push(each)).map(frame => frame.data ?? '')
    return Buffer.from(data.map(each => `data: ${each}${lineEnd}${lineEnd}`).join(''))
  }

  it('changes the model alone, and observes what was used', () => {
    fc.assert(
      fc.property(input, each => {
        const bytes = bytesOf(each)
        const { output, observed } = pass([bytes])
        assert.equal(
          output,
          bytes.toString().replaceAll('"modelVersion":"upstream-model"', '"modelVersion":"public-model"'),
        )
        const { usage } = each.streamed.result
        assert.deepEqual(observed.usage && JSON.parse(JSON.stringify(observed.usage)), usage && { ...usage })
        assert.equal(observed.isFinished, true)
      }),
      { numRuns: 200 },
    )
  })

  it('gives the same bytes and observes the same, wherever the stream is cut', () => {
    fc.assert(
      fc.property(input, cutPlaces, (each, places) => {
        const bytes = bytesOf(each)
        assert.deepEqual(pass(cutBytes(bytes, places)), pass([bytes]))
      }),
      { numRuns: 100 },
    )
  })

  it('gives the same bytes with one cut at any byte', () => {
    const bytes = Buffer.from(`${chunk([{ text: 'é€😀' }])}: keep-alive\n\n${chunk([], STOP)}`)
    const whole = pass([bytes])
    for (let at = 0; at <= bytes.length; at++) {
      assert.deepEqual(pass([bytes.subarray(0, at), bytes.subarray(at)]), whole, `cut at ${at}`)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { Observed, Target } from '#core/work.ts'
import { anyResponsesEvents, anyResponsesResult } from '../../../test/support/arbitrary-responses.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { ROUTING, target } from '../../../test/support/target.ts'
import { encodeFrame } from '../sse/frame.ts'
import { encodeResponse } from './encode-response.ts'
import { encodeStream } from './encode-stream.ts'
import { passThrough } from './pass-through.ts'

const BODY = { model: 'public-model', input: 'Hi', store: false }

function facts(fields: Record<string, unknown> = {}) {
  return passThrough.readRequest({ ...BODY, ...fields })
}

describe('pass-through of requests for responses', () => {
  const sent = (text: string, to: Target = target()) =>
    passThrough.editRequest(Buffer.from(text), passThrough.readRequest(JSON.parse(text)), to).toString()

  it('replaces the model and keeps every other byte', () => {
    const text = '{ "x":[1.50,\n{"model":"inner"}],"mod\\u0065l" : "public-model", "input":"é\\u00e9","store":false }'
    assert.equal(sent(text), text.replace('"public-model"', '"upstream-model"'))
  })

  it('sends the very bytes when the upstream calls the model the same', () => {
    const bytes = Buffer.from(JSON.stringify(BODY))
    assert.equal(passThrough.editRequest(bytes, facts(), target({ upstreamModel: 'public-model' })), bytes)
  })

  it('knows whether the client wants a stream, which always brings its usage', () => {
    const { model, isStream, wantsStreamUsage, estimate } = facts({ stream: true })
    assert.deepEqual([model, isStream, wantsStreamUsage], ['public-model', true, true])
    assert.equal(facts({ stream: null }).isStream, false)
    assert.equal(estimate({ contextLength: undefined, maxOutputTokens: 7 }).outputTokens, 7)
  })

  it('refuses a body that no upstream could serve, but not one whose prompt an upstream has', () => {
    for (const body of [{ model: 'x' }, { model: 'x', input: null }]) {
      assert.throws(
        () => passThrough.readRequest(body),
        (error: unknown) => error instanceof Fault && error.param === 'input',
      )
    }
    for (const field of ['prompt', 'previous_response_id']) {
      assert.equal(passThrough.readRequest({ model: 'x', [field]: 'stored' }).model, 'x')
    }
  })
})

describe('pass-through of whole responses', () => {
  const answer = (text: string, to: Target = target()) => passThrough.editAnswer(Buffer.from(text), to)

  it('replaces the model and keeps every other byte', () => {
    const text = '{"id":"x", "model":"upstream-model","error":null,"output":[ ],"x_vendor":{"model":"m"},"cost":1.50}\n'
    assert.equal(answer(text).body.toString(), text.replace('"upstream-model"', '"public-model"'))
  })

  it('adds where the request went only when that is wanted', () => {
    const text = '{"output":[],"model":"upstream-model"}'
    const routed = JSON.parse(answer(text, target({ routing: ROUTING })).body.toString())
    assert.deepEqual(routed, { output: [], model: 'public-model', _routing: ROUTING })
    assert.deepEqual(JSON.parse(answer(text).body.toString()), { output: [], model: 'public-model' })
  })

  it('states the id and what is kept in place of the upstream, and keeps every other byte', () => {
    const stated = { id: 'resp_ours', store: true, previous_response_id: null }
    const text = '{"id" : "resp_theirs","output":[ ],"store":false, "model":"public-model"}'
    const { body, observed } = passThrough.editAnswer(Buffer.from(text), target(), stated)
    assert.equal(observed.upstreamId, 'resp_theirs')
    assert.equal(body.toString(), text.replace('resp_theirs', 'resp_ours').replace('false', 'true'))
    const chained = passThrough.editAnswer(Buffer.from(text), target(), { ...stated, previous_response_id: 'resp_0' })
    assert.equal(JSON.parse(chained.body.toString()).previous_response_id, 'resp_0')
  })

  it('observes usage, and the bytes that were generated', () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'abc' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'é' }, { type: 'refusal', refusal: 'x' }, null] },
      { type: 'function_call', name: 'f', arguments: '{}' },
      { type: 'custom_tool_call', name: 'g', input: 'ls' },
      null,
    ]
    const { observed } = answer(JSON.stringify({ output, usage: { input_tokens: 3, output_tokens: 4 } }))
    assert.equal(observed.usage?.inputTokens, 3)
    assert.equal(observed.outputBytes, 3 + 2 + 1 + 3 + 3)
    assert.equal(observed.isFinished, true)
    assert.equal(answer('{"output":[]}').observed.usage, undefined)
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    const failed = '{"status":"failed","output":[],"error":{"code":"server_error","message":"x"}}'
    for (const text of [failed, '{"error":{"message":"x"}}', '{"id":"x"}', '{"choices":[]}', '[]', '<html>', '']) {
      assert.throws(
        () => answer(text),
        (error: unknown) => error instanceof Fault && error.code === 'upstream_error',
      )
    }
  })

  it('changes the model of any answer and nothing else', () => {
    fc.assert(
      fc.property(anyResponsesResult, result => {
        const body = encodeResponse(result, { publicModel: 'upstream-model', wantsStreamUsage: false })
        const passed = JSON.parse(answer(JSON.stringify(body)).body.toString())
        assert.deepEqual(passed, JSON.parse(JSON.stringify({ ...body, model: 'public-model' })))
      }),
    )
  })
})

interface Passed {
  readonly output: string
  readonly observed: Observed
  readonly fault: string | undefined
  readonly hasEnded: boolean
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
    hasEnded: codec.hasEnded,
  }
}

const passText = (text: string, to?: Target) => pass([Buffer.from(text)], to)

const HEAD = { id: 'resp_1', object: 'response', model: 'upstream-model', output: [] }
const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const created = event('response.created', { sequence_number: 0, response: HEAD })
const delta = (text: string) => event('response.output_text.delta', { sequence_number: 1, delta: text })
const completed = event('response.completed', { sequence_number: 2, response: { ...HEAD, usage: USAGE } })
const renamed = (text: string) => text.replaceAll('"upstream-model"', '"public-model"')

describe('pass-through of streams of responses', () => {
  it('renames the model in every event that carries the response and keeps every other byte', () => {
    const odd =
      'event:response.in_progress\r\ndata:{ "x":{"model":"m"}, "response" : {"model" : "upstream-model" } }\r\n\r\n'
    const stream = `: hello\n\n${created}${odd}${delta('"model":"m"')}${completed}`
    assert.equal(passText(stream).output, renamed(stream))
  })

  it('holds the last event back until the answer has been accounted for', () => {
    const codec = passThrough.editStream(facts({ stream: true }), target())
    const begun = Buffer.from(codec.push(Buffer.from(created + delta('a') + completed)) ?? []).toString()
    assert.equal(begun, renamed(created + delta('a')))
    assert.deepEqual([codec.hasEnded, codec.observed.isFinished], [true, true])
    assert.equal(codec.observed.usage?.totalTokens, 15)
    assert.equal(Buffer.from(codec.finish()).toString(), renamed(completed))
  })

  it('reads a last event without its blank line, and an incomplete response, as the end', () => {
    const incomplete = event('response.incomplete', { response: { ...HEAD, usage: USAGE } })
    for (const last of [completed.trimEnd(), incomplete]) {
      const { observed, fault } = passText(created + last)
      assert.deepEqual([observed.isFinished, observed.usage?.inputTokens, fault], [true, 10, undefined])
    }
  })

  it('is not finished before its last event, whatever marker comes', () => {
    assert.equal(passText(created + delta('a')).observed.isFinished, false)
    const marked = passText(`${created}${delta('a')}data: [DONE]\n\n`)
    assert.deepEqual([marked.observed.isFinished, marked.fault], [false, 'upstream_error'])
    assert.equal(passText(`${created}${completed}data: [DONE]\n\n`).output, renamed(created + completed))
  })

  it('states the id and what is kept in every event that carries the response', () => {
    const stated = { id: 'resp_ours', store: true, previous_response_id: 'resp_0' }
    const codec = passThrough.editStream(facts({ stream: true }), target(), stated)
    const output = Buffer.concat([
      codec.push(Buffer.from(created + delta('a') + completed)) ?? '',
      codec.finish(),
    ] as Buffer[])
    const data = output
      .toString()
      .split('\n')
      .filter(line => line.startsWith('data: '))
    const responses = data.flatMap(line => JSON.parse(line.slice(6)).response ?? [])
    assert.deepEqual(
      responses.map(({ id, store, previous_response_id }) => ({ id, store, previous_response_id })),
      [stated, stated],
    )
    assert.equal(codec.observed.upstreamId, HEAD.id)
  })

  it('says where the request went once, in the first response that the client sees', () => {
    const { output } = passText(created + completed, target({ routing: ROUTING }))
    const data = output.split('\n').filter(line => line.startsWith('data: '))
    assert.deepEqual(
      data.map(line => JSON.parse(line.slice(6)).response._routing),
      [ROUTING, undefined],
    )
  })

  it('counts the bytes that the model wrote once', () => {
    const call = { type: 'function_call', name: 'f', arguments: '' }
    const stream =
      delta('é') +
      event('response.output_text.done', { text: 'é' }) +
      event('response.reasoning_summary_text.delta', { delta: 'ab' }) +
      event('response.output_item.added', { item: call }) +
      event('response.function_call_arguments.delta', { delta: '{}' }) +
      event('response.output_item.done', { item: { ...call, arguments: '{}' } })
    assert.equal(passText(stream).observed.outputBytes, 2 + 2 + 1 + 2)
  })

  it('stops at an error of the upstream, and at a response that failed, whose cost it observes', () => {
    const error = { code: 'invalid_prompt', message: 'x' }
    const failed = event('response.failed', { response: { ...HEAD, usage: USAGE, error } })
    const cases: [string, string][] = [
      [failed, 'invalid_request'],
      [event('error', { code: 'server_error', message: 'x' }), 'upstream_error'],
      ['data: {"error":{"message":"x"}}\n\n', 'upstream_error'],
    ]
    for (const [bad, code] of cases) {
      const { output, fault } = passText(created + bad + completed)
      assert.deepEqual([output, fault], [renamed(created), code])
    }
    assert.equal(passText(created + failed).observed.usage?.totalTokens, 15)
  })

  it('words a fault as the next event', () => {
    const codec = passThrough.editStream(facts({ stream: true }), target())
    codec.push(Buffer.from(created + delta('a')))
    const text = Buffer.from(codec.encodeFault(new Fault('timeout_error', 'Too late.'))).toString()
    assert.match(text, /^event: error\ndata: \{.*\}\n\n$/)
    const { type, code, sequence_number } = JSON.parse(text.slice(text.indexOf('{')))
    assert.deepEqual([type, code, sequence_number], ['error', 'timeout_error', 2])
  })
})

describe('pass-through of any stream of responses', () => {
  const input = fc.record({ events: anyResponsesEvents, lineEnd: fc.constantFrom('\n', '\r\n') })

  function print(events: readonly CallEvent[], lineEnd: string): Buffer {
    const encoder = encodeStream({ publicModel: 'upstream-model', wantsStreamUsage: true })
    const text = events.flatMap(each => encoder.push(each)).map(frame => encodeFrame(frame).toString())
    return Buffer.from(text.join('').replaceAll('\n', lineEnd))
  }

  it('changes the model and nothing else, and observes what was used', () => {
    fc.assert(
      fc.property(input, ({ events, lineEnd }) => {
        const bytes = print(events, lineEnd)
        const { output, observed, hasEnded } = pass([bytes])
        assert.equal(output, bytes.toString().replaceAll('"model":"upstream-model"', '"model":"public-model"'))
        const reported = events.find(each => each.type === 'usage')?.usage
        assert.deepEqual(observed.usage && JSON.parse(JSON.stringify(observed.usage)), reported && { ...reported })
        const written = events.reduce((sum, each) => {
          if (each.type === 'part-delta') return sum + Buffer.byteLength(each.text)
          return each.type === 'part-start' && each.kind === 'tool-call' ? sum + Buffer.byteLength(each.name) : sum
        }, 0)
        assert.deepEqual([observed.outputBytes, observed.isFinished, hasEnded], [written, true, true])
      }),
      { numRuns: 200 },
    )
  })

  it('gives the same bytes and observes the same, wherever the stream is cut', () => {
    fc.assert(
      fc.property(input, cutPlaces, ({ events, lineEnd }, places) => {
        const bytes = print(events, lineEnd)
        const whole = pass([bytes])
        assert.deepEqual(pass(cutBytes(bytes, places)), whole)
        assert.deepEqual(pass(Array.from(bytes, byte => Buffer.of(byte))), whole)
      }),
      { numRuns: 100 },
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CallEvent } from '#core/call-event.ts'
import { Fault } from '#core/fault.ts'
import type { Observed, Target } from '#core/work.ts'
import { anyEvents } from '../../../test/support/arbitrary-answer.ts'
import { cutBytes, cutPlaces } from '../../../test/support/cut.ts'
import { ROUTING, target } from '../../../test/support/target.ts'
import { encodeStream } from './encode-stream.ts'
import { passThrough } from './pass-through.ts'

const BODY = { model: 'public-model', messages: [{ role: 'user', content: 'Hi' }] }

function facts(fields: Record<string, unknown> = {}) {
  return passThrough.readRequest({ ...BODY, ...fields })
}

function sent(text: string, to: Target = target()): string {
  const bytes = Buffer.from(text)
  return passThrough.editRequest(bytes, passThrough.readRequest(JSON.parse(text)), to).toString()
}

describe('pass-through of requests', () => {
  it('replaces the model and keeps every other byte', () => {
    const text =
      '{ "x":[1.50,\n{"model":"inner"}],"mod\\u0065l" : "public-model", "messages":[{"role":"user","content":"é\\u00e9"}] }'
    assert.equal(sent(text), text.replace('"public-model"', '"upstream-model"'))
  })

  it('sends the very bytes when the upstream calls the model the same', () => {
    const bytes = Buffer.from(JSON.stringify(BODY))
    assert.equal(passThrough.editRequest(bytes, facts(), target({ upstreamModel: 'public-model' })), bytes)
  })

  it('asks a stream for its usage, keeping the other stream options', () => {
    const same = target({ upstreamModel: 'public-model' })
    const options = (fields: object) => JSON.parse(sent(JSON.stringify({ ...BODY, ...fields }), same)).stream_options
    assert.deepEqual(options({ stream: true }), { include_usage: true })
    assert.deepEqual(options({ stream: true, stream_options: null }), { include_usage: true })
    assert.deepEqual(options({ stream: true, stream_options: { include_usage: false, x: 1 } }), {
      include_usage: true,
      x: 1,
    })
    assert.equal(options({}), undefined)
    assert.equal(options({ stream: false }), undefined)
  })

  it('tells an upstream in words to translate, before everything else, unless it knows the options', () => {
    const text =
      '{"model":"public-model","translation_options":{"source_lang":"German","target_lang":"fr"},"messages":[ {"role":"user","content":"Gr\\u00fc\u00dfe"}],"x":1.50}'
    const told = `Translate the user's text from German into fr. Answer with the translation alone.`
    assert.equal(
      sent(text, target({ upstreamModel: 'public-model' })),
      `{"model":"public-model","messages":[ {"role":"system","content":"${told}"},{"role":"user","content":"Gr\\u00fc\u00dfe"}],"x":1.50}`,
    )
    const knowing = target({ upstreamModel: 'public-model', quirks: { translationOptions: true } })
    assert.equal(sent(text, knowing), text)
  })

  it('does not ask an upstream that refuses stream options', () => {
    const text = JSON.stringify({ ...BODY, stream: true })
    assert.equal(sent(text, target({ upstreamModel: 'public-model', quirks: { streamOptions: false } })), text)
  })

  it('knows whether the client wants a stream and its usage', () => {
    const { model, isStream, wantsStreamUsage } = facts({ stream: true, stream_options: { include_usage: true } })
    assert.deepEqual([model, isStream, wantsStreamUsage], ['public-model', true, true])
    const plain = facts({ stream: null, stream_options: null })
    assert.deepEqual([plain.isStream, plain.wantsStreamUsage], [false, false])
  })

  it('refuses a body that no upstream could serve', () => {
    assert.throws(
      () => passThrough.readRequest({ model: 'x' }),
      (error: unknown) => error instanceof Fault && error.param === 'messages',
    )
  })
})

describe('pass-through of whole answers', () => {
  const answer = (text: string, to: Target = target()) => passThrough.editAnswer(Buffer.from(text), to)

  it('replaces the model and keeps every other byte', () => {
    const text = '{"id":"x", "model":"upstream-model","choices":[ ],"x_vendor":{"model":"m"},"cost":1.50}\n'
    assert.equal(answer(text).body.toString(), text.replace('"upstream-model"', '"public-model"'))
  })

  it('adds where the request went only when that is wanted, and a model when there is none', () => {
    const body = answer('{"choices":[]}', target({ routing: ROUTING })).body.toString()
    assert.deepEqual(JSON.parse(body), { choices: [], model: 'public-model', _routing: ROUTING })
    assert.deepEqual(JSON.parse(answer('{"choices":[]}').body.toString()), { choices: [], model: 'public-model' })
  })

  it('observes usage, and the bytes that were generated', () => {
    const message = {
      role: 'assistant',
      content: 'é',
      refusal: null,
      reasoning_content: 'abc',
      tool_calls: [
        { function: { name: 'f', arguments: '{}' } },
        { custom: { name: 'g', input: 'ls' } },
        { type: 'broken' },
      ],
    }
    const choices = [{ message }, { message: { content: 'x' } }, null, {}]
    const { observed } = answer(JSON.stringify({ choices, usage: { prompt_tokens: 3, completion_tokens: 4 } }))
    assert.equal(observed.usage?.inputTokens, 3)
    assert.equal(observed.outputBytes, 2 + 3 + 3 + 3 + 1)
    assert.equal(observed.isFinished, true)
    assert.equal(answer('{"choices":[]}').observed.usage, undefined)
  })

  it('counts what hosts say in other ways: content as a list, and the function call of before there were tools', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'abc' }] },
      { type: 'text', text: 'é' },
      { type: 'reference', reference_ids: [1] },
    ]
    const message = { content, function_call: { name: 'f', arguments: '{}' } }
    assert.equal(answer(JSON.stringify({ choices: [{ message }] })).observed.outputBytes, 3 + 2 + 3)
  })

  it('is an upstream error when a success status carries an error or something else', () => {
    for (const text of ['{"error":{"message":"x"}}', '{"id":"x"}', '[]', '<html>', '']) {
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
function pass(pieces: readonly Buffer[], { wantsStreamUsage = false, to = target() } = {}): Passed {
  const codec = passThrough.editStream(facts({ stream: true, stream_options: { include_usage: wantsStreamUsage } }), to)
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

function passText(text: string, options?: Parameters<typeof pass>[1]): Passed {
  return pass([Buffer.from(text)], options)
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const HEAD = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'upstream-model' }
const chunk = (choices: unknown[], fields: object = {}) => event({ ...HEAD, choices, ...fields })
const delta = (fields: object, index = 0) => ({ index, delta: fields, finish_reason: null })
const finish = (index = 0) => ({ index, delta: {}, finish_reason: 'stop' })
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const DONE = 'data: [DONE]\n\n'
const renamed = (text: string) => text.replaceAll('"upstream-model"', '"public-model"')

describe('pass-through of streams', () => {
  it('renames the model in every chunk and keeps every other byte', () => {
    const stream = `: hello\n\n${chunk([delta({ content: 'a' })])}data:{ "model" : "upstream-model" , "x":1.50 }\r\n\r\n${DONE}`
    assert.equal(passText(stream).output, renamed(stream))
  })

  it('hides the usage chunk from a client that did not ask for it, and observes it all the same', () => {
    const answer = chunk([delta({ content: 'a' })], { usage: null }) + chunk([finish()])
    const stream = answer + chunk([], { usage: USAGE }) + DONE
    const hidden = passText(stream)
    assert.equal(hidden.output, renamed(answer + DONE))
    assert.equal(hidden.observed.usage?.totalTokens, 15)
    assert.equal(passText(stream, { wantsStreamUsage: true }).output, renamed(stream))
  })

  it('keeps a chunk that has usage beside choices', () => {
    const stream = chunk([delta({ content: 'a' })], { usage: USAGE }) + DONE
    assert.equal(passText(stream).output, renamed(stream))
  })

  it('believes the last usage, and no broken one', () => {
    const usage = (total: unknown) => chunk([], { usage: { ...USAGE, prompt_tokens: total } })
    assert.equal(passText(usage(1) + usage(7) + DONE).observed.usage?.inputTokens, 7)
    assert.equal(passText(usage(7) + chunk([], { usage: {} }) + DONE).observed.usage?.inputTokens, 7)
  })

  it('finds the usage that a host keeps to itself, and leaves it there', () => {
    const stream =
      chunk([finish()], { x_groq: { id: 'req', usage: { prompt_tokens: 3, completion_tokens: 4 } } }) + DONE
    const { output, observed } = passText(stream)
    assert.equal(observed.usage?.inputTokens, 3)
    assert.equal(output, renamed(stream))
  })

  it('says where the request went once, in the first chunk that the client sees', () => {
    const stream = chunk([], { usage: USAGE }) + chunk([delta({ content: 'a' })]) + chunk([finish()]) + DONE
    const { output } = passText(stream, { to: target({ routing: ROUTING }) })
    const events = output.split('\n\n').filter(each => each.startsWith('data: {'))
    assert.deepEqual(
      events.map(each => JSON.parse(each.slice(6))._routing),
      [ROUTING, undefined],
    )
  })

  it('counts the bytes that the model wrote', () => {
    const stream =
      chunk([delta({ role: 'assistant', content: '' }), delta({ content: 'é' }, 1)]) +
      chunk([delta({ reasoning_content: 'ab' }), delta({ refusal: 'c' }, 1)]) +
      chunk([delta({ tool_calls: [{ index: 0, id: 'call', function: { name: 'f', arguments: '{' } }] })]) +
      chunk([delta({ tool_calls: [{ index: 0, function: { arguments: '}' } }] })])
    assert.equal(passText(stream).observed.outputBytes, 2 + 2 + 1 + 2 + 1)
  })

  it('is finished when every choice that began has ended, or when the end marker came', () => {
    const isFinished = (text: string) => passText(text).observed.isFinished
    assert.equal(isFinished(chunk([delta({ content: 'a' })])), false)
    assert.equal(isFinished(chunk([delta({ content: 'a' })]) + chunk([finish()])), true)
    assert.equal(isFinished(chunk([delta({ content: 'a' }), delta({ content: 'b' }, 1)]) + chunk([finish()])), false)
    assert.equal(isFinished(chunk([delta({ content: 'a' })]) + DONE), true)
    assert.equal(isFinished(chunk([], { usage: USAGE })), false)
  })

  it('does not take an empty finish reason for an end', () => {
    const word = chunk([{ index: 0, delta: { content: 'a' }, finish_reason: '' }])
    assert.equal(passText(word).observed.isFinished, false)
    assert.equal(passText(word + chunk([finish()])).observed.isFinished, true)
  })

  it('ends a stream whose upstream closed without the end marker', () => {
    const stream = chunk([delta({ content: 'a' })]) + chunk([finish()])
    assert.equal(passText(stream).output, renamed(stream) + DONE)
  })

  it('stops at an error of the upstream and words faults as events', () => {
    const { output, fault } = passText(chunk([delta({ content: 'a' })]) + event({ error: { message: 'x' } }) + DONE)
    assert.equal(output, renamed(chunk([delta({ content: 'a' })])))
    assert.equal(fault, 'upstream_error')
    const codec = passThrough.editStream(facts({ stream: true }), target())
    const text = Buffer.from(codec.encodeFault(new Fault('timeout_error', 'Too late.'))).toString()
    assert.match(text, /^data: \{.*\}\n\n$/)
    assert.equal(JSON.parse(text.slice(6)).error.type, 'timeout_error')
  })
})

/** The events as an upstream would stream them. */
function stream(events: readonly CallEvent[], lineEnd: string, comment: string): { bytes: Buffer; data: string[] } {
  const encoder = encodeStream({ publicModel: 'upstream-model', wantsStreamUsage: true })
  const data = events.flatMap(each => encoder.push(each)).map(frame => frame.data ?? '')
  const text = data.map(each => `${comment}data: ${each}${lineEnd}${lineEnd}`).join('')
  return { bytes: Buffer.from(text), data }
}

function generatedBytes(events: readonly CallEvent[]): number {
  const audio = new Set<string>()
  let bytes = 0
  for (const event of events) {
    if (event.type === 'part-start') {
      if (event.kind === 'audio') audio.add(`${event.choice} ${event.part}`)
      if (event.kind === 'tool-call') bytes += Buffer.byteLength(event.name)
    }
    if (event.type === 'part-delta' && !audio.has(`${event.choice} ${event.part}`))
      bytes += Buffer.byteLength(event.text)
  }
  return bytes
}

describe('pass-through of any stream', () => {
  const input = fc.record({
    events: anyEvents,
    lineEnd: fc.constantFrom('\n', '\r\n'),
    comment: fc.constantFrom('', ': processing\n\n'),
    wantsStreamUsage: fc.boolean(),
  })

  it('changes the model, hides what was not asked for, and observes what was used', () => {
    fc.assert(
      fc.property(input, ({ events, lineEnd, comment, wantsStreamUsage }) => {
        const { bytes, data } = stream(events, lineEnd, comment)
        const { output, observed } = pass([bytes], { wantsStreamUsage })
        const isShown = (each: string) => each === '[DONE]' || wantsStreamUsage || JSON.parse(each).choices.length > 0
        const blank = lineEnd + lineEnd
        const shown = data.map(each => comment + (isShown(each) ? `data: ${each}${blank}` : '')).join('')
        assert.equal(output, shown.replaceAll('"model":"upstream-model"', '"model":"public-model"'))
        const reported = events.find(each => each.type === 'usage')?.usage
        const usage = observed.usage && JSON.parse(JSON.stringify(observed.usage))
        assert.deepEqual(usage, reported && JSON.parse(JSON.stringify(reported)))
        assert.equal(observed.outputBytes, generatedBytes(events))
        assert.equal(observed.isFinished, true)
      }),
      { numRuns: 200 },
    )
  })

  it('gives the same bytes and observes the same, wherever the stream is cut', () => {
    fc.assert(
      fc.property(input, cutPlaces, ({ events, lineEnd, comment, wantsStreamUsage }, places) => {
        const { bytes } = stream(events, lineEnd, comment)
        const whole = pass([bytes], { wantsStreamUsage })
        assert.deepEqual(pass(cutBytes(bytes, places), { wantsStreamUsage }), whole)
        assert.deepEqual(
          pass(
            Array.from(bytes, byte => Buffer.of(byte)),
            { wantsStreamUsage },
          ),
          whole,
        )
      }),
      { numRuns: 100 },
    )
  })

  it('gives the same bytes with one cut at any byte', () => {
    const text =
      chunk([delta({ role: 'assistant', content: '' })]) +
      chunk([delta({ content: 'é€😀' })]).replaceAll('\n', '\r\n') +
      `: keep-alive\n\n${chunk([finish()])}${chunk([], { usage: USAGE })}${DONE}`
    const bytes = Buffer.from(text)
    const whole = pass([bytes])
    for (let at = 0; at <= bytes.length; at++) {
      assert.deepEqual(pass([bytes.subarray(0, at), bytes.subarray(at)]), whole, `cut at ${at}`)
    }
  })
})

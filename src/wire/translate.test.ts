import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Message } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Choice } from '#core/result.ts'
import { anyEvents, anyResult } from '../../test/support/arbitrary-answer.ts'
import { call as anyCall } from '../../test/support/arbitrary-call.ts'
import { collectEvents } from '../../test/support/collect-events.ts'
import { cutBytes, cutPlaces } from '../../test/support/cut.ts'
import { ROUTING, target } from '../../test/support/target.ts'
import { chatCompletions } from './chat-completions/index.ts'
import { generateContent } from './generate-content/index.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'
import { decodeFrame, encodeFrame } from './sse/frame.ts'
import { FrameSplitter } from './sse/split.ts'
import { type ClientRequest, translate } from './translate.ts'

const CALL = chatCompletions.decodeRequest({
  model: 'public-model',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
  stream_options: { include_usage: true },
  vendor_field: 1,
})
const CONTEXT = { publicModel: 'public-model', wantsStreamUsage: true }

/** Chat-completions on both sides, by way of the neutral form all the same. */
function exchange(fields: Parameters<typeof target>[0] = {}) {
  return translate(chatCompletions, chatCompletions, asked(CALL), target(fields))
}

function asked(call: Call): ClientRequest {
  return { call, body: {}, estimate: () => ({ inputTokens: 7 }) }
}

/** Without what no upstream but its own could be told. */
function withoutRefused({ parts, ...message }: Message): Message {
  const isRefused = (part: Message['parts'][number]) =>
    part.type === 'audio' || ('source' in part && part.source.kind === 'file')
  return { ...message, parts: parts.filter(part => !isRefused(part)) }
}

/** A function called with nothing is called with an empty object. */
function withArguments(choice: Choice): Choice {
  const parts = choice.parts.map(part => {
    if (part.type !== 'tool-call' || part.kind === 'custom' || part.arguments.trim() !== '') return part
    return { ...part, arguments: `${part.arguments}{}` }
  })
  return { ...choice, parts }
}

function framesOf(bytes: Uint8Array): ReturnType<typeof decodeFrame>[] {
  return new FrameSplitter({ frameBytesMax: 1e9 }).push(Buffer.from(bytes)).map(decodeFrame)
}

/** Without what JSON cannot say: members that are undefined, objects without a prototype. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

const CHUNKS = [
  '{"id":"c","created":1,"model":"upstream-model","choices":[{"index":0,"delta":{"content":"Hé"},"finish_reason":null}]}',
  '{"id":"c","created":1,"model":"upstream-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  '{"id":"c","created":1,"model":"upstream-model","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
].map(data => `data: ${data}\n\n`)
const DONE = 'data: [DONE]\n\n'

describe('translate', () => {
  it('asks under the upstream’s model id, and for usage', () => {
    const body = JSON.parse(Buffer.from(exchange().body).toString())
    assert.equal(body.model, 'upstream-model')
    assert.deepEqual(body.stream_options, { include_usage: true })
    assert.deepEqual(body.messages, [{ role: 'user', content: 'Hello' }])
  })

  it('tells what the upstream could not be told', () => {
    const foreign = { ...CALL, topK: 5 }
    assert.deepEqual(translate(chatCompletions, chatCompletions, asked(foreign), target()).warnings, [
      'top_k has no equivalent in chat-completions',
    ])
  })

  it('gives whole answers in the client’s words, with what they used', () => {
    fc.assert(
      fc.property(anyResult, answer => {
        const result = { ...answer, id: answer.id || 'chatcmpl-1', createdAt: answer.createdAt || 1 }
        const bytes = Buffer.from(JSON.stringify(chatCompletions.encodeResponse(result, CONTEXT)))
        const { body, observed } = exchange().decodeAnswer(bytes)
        const filled = { ...result, choices: result.choices.map(withArguments) }
        const told = chatCompletions.encodeResponse(filled, CONTEXT)
        assert.deepEqual(JSON.parse(Buffer.from(body).toString()), plain(told))
        assert.deepEqual(plain(observed.usage), plain(result.usage))
      }),
      { numRuns: 50 },
    )
  })

  it('says the same wherever the upstream’s stream is cut', () => {
    fc.assert(
      fc.property(anyEvents, cutPlaces, (events, places) => {
        const upstream = chatCompletions.encodeStream(CONTEXT)
        const bytes = Buffer.concat(events.flatMap(event => upstream.push(event).map(encodeFrame)))
        const stream = exchange().openStream()
        const output = cutBytes(bytes, places).flatMap(piece => stream.push(piece) ?? [])
        assert.equal(stream.fault, undefined)
        const decoder = chatCompletions.decodeStream()
        const frames = framesOf(Buffer.concat([...output, stream.finish()]))
        const again = frames.flatMap(frame => decoder.push(frame))
        assert.deepEqual(plain(collectEvents(again).choices), plain(collectEvents(events).choices.map(withArguments)))
      }),
      { numRuns: 50 },
    )
  })

  it('holds the end back until it is asked for', () => {
    const stream = exchange().openStream()
    const output = Buffer.from(stream.push(Buffer.from(CHUNKS.join('') + DONE)) ?? []).toString()
    assert.ok(output.includes('"finish_reason":"stop"'))
    assert.ok(!output.includes('[DONE]') && !output.includes('completion_tokens'))
    assert.deepEqual([stream.hasEnded, stream.observed.isFinished], [true, true])
    assert.deepEqual([stream.observed.usage?.outputTokens, stream.observed.outputBytes], [1, 3])
    const end = Buffer.from(stream.finish()).toString()
    assert.ok(end.includes('"completion_tokens":1'))
    assert.ok(end.endsWith(DONE))
  })

  it('knows a whole answer whose end marker never came from one that was cut off', () => {
    const whole = exchange().openStream()
    for (const chunk of CHUNKS) whole.push(Buffer.from(chunk))
    whole.close()
    assert.equal(whole.observed.isFinished, true)
    const cut = exchange().openStream()
    cut.push(Buffer.from(CHUNKS[0] as string))
    cut.close()
    assert.equal(cut.observed.isFinished, false)
    assert.equal(cut.fault?.code, 'upstream_error')
  })

  it('stops at an error of the upstream, after what came before', () => {
    const stream = exchange().openStream()
    const error = 'data: {"error":{"message":"Overloaded.","code":503}}\n\n'
    const output = stream.push(Buffer.from(CHUNKS[0] + error + CHUNKS[1]))
    assert.ok(Buffer.from(output ?? []).includes('Hé'))
    assert.equal(stream.fault?.code, 'all_channels_failed')
    const told = Buffer.from(stream.encodeFault(stream.fault as never)).toString()
    assert.match(told, /^data: \{"error":/)
  })

  it('says which way the call went, once', () => {
    const { decodeAnswer, openStream } = exchange({ routing: ROUTING })
    const { body } = decodeAnswer(Buffer.from('{"id":"c","created":1,"model":"m","choices":[]}'))
    assert.deepEqual(JSON.parse(Buffer.from(body).toString())._routing, ROUTING)
    const stream = openStream()
    const output = CHUNKS.map(chunk => Buffer.from(stream.push(Buffer.from(chunk)) ?? []).toString()).join('')
    assert.equal(output.split('_routing').length, 2)
    assert.deepEqual(JSON.parse(framesOf(Buffer.from(output))[0]?.data ?? '')._routing, ROUTING)
  })

  it('gives an answer an id and a time where the upstream gave none', () => {
    const { body } = exchange().decodeAnswer(Buffer.from('{"model":"m","choices":[]}'))
    const whole = JSON.parse(Buffer.from(body).toString())
    const output = exchange()
      .openStream()
      .push(Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'))
    const chunks = framesOf(output ?? Buffer.alloc(0)).map(frame => JSON.parse(frame.data ?? ''))
    for (const { id, created } of [whole, ...chunks]) {
      assert.match(id, /^chatcmpl-[0-9A-Za-z]{24}$/)
      assert.ok(Math.abs(created - Date.now() / 1000) < 60)
    }
    assert.equal(new Set(chunks.map(chunk => chunk.id)).size, 1)
  })

  it('gives every upstream a conversation that it takes: of tools, ids, pairs and turns', () => {
    interface Block {
      readonly type: string
      readonly text?: string
      readonly id?: string
      readonly name?: string
      readonly tool_use_id?: string
    }
    fc.assert(
      fc.property(anyCall, call => {
        const asking = { ...call, choices: 1, modalities: ['text'], messages: call.messages.map(withoutRefused) }
        const { body } = translate(chatCompletions, messages, asked(asking), target({ format: 'messages' }))
        const sent: { messages: { role: string; content: string | Block[] }[] } = JSON.parse(
          Buffer.from(body).toString(),
        )
        const turns = sent.messages.map(({ role, content }) => ({
          role,
          blocks: typeof content === 'string' ? [{ type: 'text', text: content } as Block] : content,
        }))
        assert.equal(turns[0]?.role, 'user')
        for (const [i, { role, blocks }] of turns.entries()) {
          assert.notEqual(role, turns[i - 1]?.role, 'roles alternate')
          assert.ok(blocks.length > 0, 'no turn is empty')
          for (const block of blocks) assert.ok(block.type !== 'text' || block.text?.trim(), 'no text is blank')
          const called = (turns[i - 1]?.blocks ?? []).flatMap(block => (block.type === 'tool_use' ? [block] : []))
          const answered = blocks.filter(block => block.type === 'tool_result')
          assert.deepEqual(
            answered.map(block => block.tool_use_id),
            called.map(block => block.id),
            'results in order',
          )
          assert.deepEqual(blocks.slice(0, answered.length), answered, 'results come first')
          for (const { id, name } of called) assert.match(`${id} ${name}`, /^[\w-]+ [\w-]{1,128}$/)
        }
        const calls = call.messages.flatMap(({ parts }) => parts.filter(part => part.type === 'tool-call'))
        const uses = turns.flatMap(({ blocks }) => blocks.filter(block => block.type === 'tool_use'))
        assert.equal(uses.length, calls.length)
      }),
      { numRuns: 200 },
    )
  })

  it('refuses what points to something that only another host keeps', () => {
    const call = responses.decodeRequest({ model: 'm', input: 'And then?', prompt: { id: 'pmpt_1' } })
    assert.throws(
      () => translate(responses, chatCompletions, asked(call), target()),
      (error: unknown) => error instanceof Fault && error.param === 'prompt' && error.status === 400,
    )
  })

  it("names an answer in the client's style, and keeps the upstream's id for the log", () => {
    const call = messages.decodeRequest({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
    const { decodeAnswer } = translate(messages, chatCompletions, asked(call), target())
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    const { body, observed } = decodeAnswer(Buffer.from(JSON.stringify({ id: 'chatcmpl-1', choices })))
    assert.match((JSON.parse(Buffer.from(body).toString()) as { id: string }).id, /^msg_\w{24}$/)
    assert.equal(observed.upstreamId, 'chatcmpl-1')
  })

  it('gives calls that have no id one that no other turn has, whole and streamed', () => {
    const call = messages.decodeRequest({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
    const exchange = translate(messages, generateContent, asked(call), target({ format: 'generate-content' }))
    const parts = [{ functionCall: { name: 'f', args: {} } }]
    const answer = JSON.stringify({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] })
    const whole = () => Buffer.from(exchange.decodeAnswer(Buffer.from(answer)).body).toString()
    const streamed = () => Buffer.from(exchange.openStream().push(Buffer.from(`data: ${answer}\n\n`)) ?? '').toString()
    const ids = [whole(), whole(), streamed(), streamed()].map(text => /"id":"(call_\w{24})"/.exec(text)?.[1])
    assert.equal(new Set(ids).size, 4)
    assert.ok(!ids.includes(undefined))
  })
})

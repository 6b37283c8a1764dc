import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { ROUTING, target } from '../../test/support/target.ts'
import { type Seal, wrapSeal } from './adaptations/seal-envelope.ts'
import { chatWork } from './chat.ts'
import { chatCompletions } from './chat-completions/index.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'

const TEXT = '{"model":"public-model", "messages":[{"role":"user","content":"Hello there"}],"max_tokens":5}'

/** As a client keeps it that has talked to a model of another format. */
const SEAL: Seal = { format: 'responses', kind: 'encrypted', value: 'x' }

function work(text = TEXT) {
  return chatWork(chatCompletions, Buffer.from(text))
}

describe('chatWork', () => {
  it('tells the relay what it needs to know of a request', () => {
    const { scene, operation, model, isStream, estimate } = work()
    assert.deepEqual([scene, operation, model, isStream], ['chat', 'chat', 'public-model', false])
    assert.equal(estimate({ contextLength: undefined, maxOutputTokens: undefined }).outputTokens, 5)
  })

  it("sends the client's bytes with the upstream's model id to an upstream of the same format", () => {
    const { body } = work().encode(target())
    assert.equal(Buffer.from(body).toString(), TEXT.replace('public', 'upstream'))
  })

  it('keeps what another vendor sealed from an upstream of the same format, and passes the rest on', () => {
    const sealed = { type: 'thinking', thinking: 'Hm.', signature: wrapSeal(SEAL) }
    const own = { type: 'thinking', thinking: 'Well.', signature: 'own' }
    const content = [sealed, own, { type: 'text', text: 'Hi', x_vendor: 1 }]
    const body = { model: 'm', max_tokens: 5, messages: [{ role: 'assistant', content }], x_vendor: 2 }
    const headers = { 'anthropic-beta': 'x' }
    const exchange = chatWork(messages, Buffer.from(JSON.stringify(body)), { headers }).encode(
      target({ format: 'messages' }),
    )
    const sent = JSON.parse(Buffer.from(exchange.body).toString())
    assert.deepEqual(sent.messages.at(-1).content, content.slice(1))
    assert.deepEqual([sent.model, sent.x_vendor, exchange.headers], ['upstream-model', 2, headers])
    assert.match(exchange.warnings.join(), /sealed by responses/)
    const answer = { id: 'msg_1', type: 'message', role: 'assistant', content: [own], stop_reason: 'end_turn' }
    const { body: given } = exchange.decodeAnswer(Buffer.from(JSON.stringify(answer)))
    assert.deepEqual(JSON.parse(Buffer.from(given).toString()).content, [own])
  })

  it('refuses no pointer to what the same upstream keeps, whatever else the conversation holds', () => {
    const item = { type: 'reasoning', summary: [], encrypted_content: wrapSeal({ ...SEAL, format: 'messages' }) }
    const body = { model: 'm', prompt: { id: 'pmpt_1' }, input: [item, { role: 'user', content: 'And?' }] }
    const work = chatWork(responses, Buffer.from(JSON.stringify(body)))
    const sent = JSON.parse(Buffer.from(work.encode(target({ format: 'responses' })).body).toString())
    assert.deepEqual(sent.input, [{ role: 'user', content: 'And?' }])
    assert.deepEqual(sent.prompt, { id: 'pmpt_1' })
    assert.throws(() => work.encode(target()), /prompt/)
  })

  it('gives answers back under the public model id', () => {
    const exchange = work().encode(target({ routing: ROUTING }))
    const { body, observed } = exchange.decodeAnswer(Buffer.from('{"model":"upstream-model","choices":[]}'))
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
      model: 'public-model',
      choices: [],
      _routing: ROUTING,
    })
    assert.equal(observed.isFinished, true)
  })

  it('opens a stream of its own for every attempt', () => {
    const exchange = work(TEXT.replace('{', '{"stream":true,')).encode(target())
    const first = exchange.openStream()
    first.push(Buffer.from('data: [DONE]\n\n'))
    assert.equal(first.hasEnded, true)
    assert.equal(exchange.openStream().hasEnded, false)
  })

  it('reads errors of the upstream, be they JSON or not', () => {
    const exchange = work().encode(target())
    const refused = exchange.decodeFault(400, Buffer.from('{"error":{"message":"No.","param":"messages"}}'))
    assert.deepEqual([refused.code, refused.message, refused.param], ['invalid_request', 'No.', 'messages'])
    assert.equal(exchange.decodeFault(502, Buffer.from('<html>Bad gateway')).code, 'upstream_error')
  })

  it('refuses what is no chat request, naming the field', () => {
    for (const [text, param] of [
      ['{"model":"m"}', 'messages'],
      ['{"messages":[{"role":"user"}]}', 'model'],
      ['{"model":"a","model":"b","messages":[{"role":"user"}]}', 'model'],
      ['', undefined],
    ] as const) {
      assert.throws(
        () => work(text),
        (error: unknown) => error instanceof Fault && error.code === 'invalid_request' && error.param === param,
      )
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Quirks } from '#core/work.ts'
import { target } from '../../test/support/target.ts'
import { chatWork } from './chat.ts'
import { chatCompletions } from './chat-completions/index.ts'
import { messages } from './messages/index.ts'

const QUIRKS: Quirks = {
  streamOptions: false,
  fields: { max_completion_tokens: 'max_tokens', store: null },
  messageFields: { name: null, reasoning_content: 'reasoning' },
  roles: { developer: 'system' },
}

function exchange(body: object, quirks: Quirks = QUIRKS) {
  return chatWork(chatCompletions, Buffer.from(JSON.stringify(body))).encode(target({ quirks }))
}

function sent(body: object, quirks?: Quirks) {
  return JSON.parse(Buffer.from(exchange(body, quirks).body).toString())
}

const HI = [{ role: 'user', content: 'Hi' }]

describe('a request for a host with words of its own', () => {
  it('has the members, the members of messages and the roles that the host knows', () => {
    const body = {
      model: 'public-model',
      messages: [
        { role: 'developer', content: 'Be brief.', name: 'boss' },
        { role: 'user', content: 'developer' },
        { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' },
      ],
      max_completion_tokens: 5,
      store: false,
      unknown: 1,
    }
    const expected = {
      model: 'upstream-model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'developer' },
        { role: 'assistant', content: 'Yes.', reasoning: 'Hm.' },
      ],
      max_tokens: 5,
      unknown: 1,
    }
    assert.deepEqual(sent(body), expected)
    assert.deepEqual(exchange(body).warnings, [
      'store is not taken by this provider',
      'name is not taken by this provider',
    ])
  })

  it('is the same when it comes from another format', () => {
    const call = { model: 'public-model', max_tokens: 5, system: 'Be brief.', messages: HI, stream: true }
    const { body } = chatWork(messages, Buffer.from(JSON.stringify(call))).encode(target({ quirks: QUIRKS }))
    const { max_tokens, max_completion_tokens, stream_options } = JSON.parse(Buffer.from(body).toString())
    assert.deepEqual([max_tokens, max_completion_tokens, stream_options], [5, undefined, undefined])
  })

  it('brings no stream options to a host that refuses them, not even those of the client', () => {
    const streamed = { model: 'm', messages: HI, stream: true, stream_options: { include_usage: true } }
    assert.equal('stream_options' in sent(streamed), false)
    assert.equal('stream_options' in sent(streamed, {}), true)
  })

  it('asks a host without schemas for JSON, and for the schema in words', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const body = {
      model: 'm',
      messages: HI,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    }
    const asked = sent(body, { jsonSchemas: false })
    assert.deepEqual(asked.response_format, { type: 'json_object' })
    assert.equal(asked.messages[0].role, 'system')
    assert.ok(asked.messages[0].content.includes(JSON.stringify(schema)))
    assert.match(exchange(body, { jsonSchemas: false }).warnings.join(), /schema/)
    assert.deepEqual(sent(body, {}).response_format, body.response_format)
  })

  it('has ids of tool calls that the host takes, in a call and in its result', () => {
    const call = { id: 'call_of_another_host', type: 'function', function: { name: 'f', arguments: '{}' } }
    const body = {
      model: 'm',
      messages: [
        ...HI,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: '1' },
      ],
    }
    const [, made, result] = sent(body, { shortToolIds: true }).messages
    assert.match(made.tool_calls[0].id, /^[A-Za-z0-9]{9}$/)
    assert.equal(result.tool_call_id, made.tool_calls[0].id)
  })

  it('has functions where the host knows no tools of free text', () => {
    const body = { model: 'm', messages: HI, tools: [{ type: 'custom', custom: { name: 'run' } }] }
    assert.equal(sent(body, { customTools: false }).tools[0].type, 'function')
    assert.deepEqual(sent(body, {}).tools, body.tools)
  })

  it('is passed on to the byte where the host has no words of its own', () => {
    const text =
      '{ "model" : "upstream-model", "messages":[ {"role":"developer","content":"x","name":"y"} ], "seed":1.0 }'
    const { body, warnings } = chatWork(chatCompletions, Buffer.from(text)).encode(target())
    assert.equal(Buffer.from(body).toString(), text)
    assert.deepEqual(warnings, [])
  })
})

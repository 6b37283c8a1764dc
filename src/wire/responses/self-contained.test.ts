import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { type Past, pointersOf, referencesIn, selfContained, withReferred } from './self-contained.ts'

const HISTORY = [
  { id: 'msg_in', type: 'message', role: 'user', content: 'Hi' },
  { id: 'msg_out', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
]
const CALL = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const ITEMS: Past['items'] = new Map([['fc_1', CALL]])

function edited(text: string, past: Partial<Past> = {}): string {
  const bytes = Buffer.from(text)
  return selfContained(bytes, JSON.parse(text), { history: HISTORY, items: ITEMS, ...past }).toString()
}

const inputOf = (text: string, past?: Partial<Past>) => JSON.parse(edited(text, past)).input

describe('what a request points to', () => {
  const pointers = (fields: object) => pointersOf({ model: 'm', input: 'x', ...fields })

  it('is an earlier response and the items that its input names', () => {
    const reference = { type: 'item_reference', id: 'fc_1' }
    const input = [reference, { role: 'user', content: 'x' }, { id: 'msg_1' }, { id: 'msg_2', type: null }]
    assert.deepEqual(pointers({ previous_response_id: 'resp_1', input }), {
      previousResponseId: 'resp_1',
      references: ['fc_1', 'msg_1', 'msg_2'],
    })
    assert.deepEqual(pointers({ previous_response_id: null }), { previousResponseId: undefined, references: [] })
  })

  it('is refused where the gateway keeps nothing of the kind', () => {
    for (const field of [{ conversation: 'conv_1' }, { conversation: { id: 'conv_1' } }, { background: true }]) {
      assert.throws(
        () => pointers(field),
        (error: unknown) =>
          error instanceof Fault && error.code === 'unsupported_parameter' && error.param === Object.keys(field)[0],
      )
    }
    assert.doesNotThrow(() => pointers({ conversation: null, background: false }))
  })
})

describe('a request that no longer points to anything', () => {
  it('has what was said before in front of its input', () => {
    const next = { role: 'user', content: 'And?' }
    const text = (input: unknown) => JSON.stringify({ previous_response_id: 'resp_1', model: 'm', input })
    assert.deepEqual(inputOf(text([next])), [...HISTORY, next])
    assert.deepEqual(inputOf(text('And?')), [...HISTORY, next])
    for (const none of [[], null]) assert.deepEqual(inputOf(text(none)), HISTORY)
    assert.deepEqual(inputOf('{"model":"m","previous_response_id":"resp_1"}'), HISTORY)
    assert.deepEqual(inputOf('{"input":"And?","previous_response_id":"resp_1"}'), [...HISTORY, next])
  })

  it('keeps every other byte', () => {
    const text = '{ "x":1.50, "previous_response_id" : "r","input" : "\\u00e9 \\"quoted\\"" ,"n":[ ]}'
    const before = HISTORY.map(item => JSON.stringify(item)).join(',')
    const input = `[${before},{"role":"user","content":"\\u00e9 \\"quoted\\""}]`
    assert.equal(edited(text), `{ "x":1.50,"input" : ${input} ,"n":[ ]}`)
  })

  it('has the items themselves where it named them, in its own input and in that of earlier turns', () => {
    const text = '{"input":[ {"type":"item_reference","id":"fc_1"} ,{"type":"function_call_output","call_id":"c"}]}'
    const output = '{"type":"function_call_output","call_id":"c"}'
    assert.equal(edited(text, { history: [] }), `{"input":[ ${JSON.stringify(CALL)} ,${output}]}`)
    const history = [{ type: 'item_reference', id: 'fc_1' }]
    assert.deepEqual(inputOf('{"input":"x"}', { history }), [CALL, { role: 'user', content: 'x' }])
  })

  it('is refused when something is not there, naming where it was pointed to', () => {
    const refused = (text: string, past: Partial<Past>, code: string, param: string) =>
      assert.throws(
        () => edited(text, past),
        (error: unknown) => error instanceof Fault && error.code === code && error.param === param,
      )
    const stray = { type: 'item_reference', id: 'fc_2' }
    refused(JSON.stringify({ input: [{ role: 'user', content: 'x' }, stray] }), {}, 'invalid_request', 'input[1].id')
    refused('{"input":"x"}', { history: [stray] }, 'previous_response_not_found', 'previous_response_id')
  })
})

describe('items that only name others', () => {
  it('are known by their ids, and replaced where these are found', () => {
    const items = [{ type: 'item_reference', id: 'fc_1' }, { type: 'item_reference', id: 'fc_2' }, ...HISTORY]
    assert.deepEqual(referencesIn(items), ['fc_1', 'fc_2'])
    assert.deepEqual(withReferred(items, ITEMS), [CALL, ...items.slice(1)])
  })
})

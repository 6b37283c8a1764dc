import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KeptResponse, keptResponse } from './kept-response.ts'
import type { ResponsesRequest } from './schema.ts'

const RESPONSE = {
  id: 'resp_1',
  status: 'completed',
  output: [{ id: 'msg_9', type: 'message', role: 'assistant', content: [] }, { type: 'x_nameless' }],
  cost: 1.5,
}

const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

function kept(
  request: object,
  lastBytes = JSON.stringify(RESPONSE),
): (Omit<KeptResponse, 'input'> & { input: unknown }) | undefined {
  const made = keptResponse({ model: 'm', ...request } as ResponsesRequest, 'resp_1', Buffer.from(lastBytes))
  return made && { ...made, input: JSON.parse(made.input) }
}

describe('what is kept of a response', () => {
  it('is the answer as the client has it, whole or from the end of its stream', () => {
    const text = JSON.stringify(RESPONSE).replace('1.5', '1.50')
    assert.equal(kept({ input: 'x' }, text)?.response, text)
    const last = `event: response.completed\ndata: {"type":"response.completed", "response" : ${text} }\n\n`
    const end = event('response.output_item.done', { item: {} }) + last
    for (const bytes of [end, last, end.trimEnd(), end.replaceAll('\n', '\r')]) {
      assert.equal(kept({ input: 'x', stream: true }, bytes)?.response, text)
    }
  })

  it('is nothing when the answer did not end well', () => {
    for (const status of ['failed', 'in_progress', 'queued', 'cancelled', undefined]) {
      assert.equal(kept({ input: 'x' }, JSON.stringify({ ...RESPONSE, status })), undefined)
    }
    assert.notEqual(kept({ input: 'x' }, JSON.stringify({ ...RESPONSE, status: 'incomplete' })), undefined)
    const error = event('error', { message: 'x' })
    for (const bytes of ['', error, ': hm\n\n']) assert.equal(kept({ stream: true }, bytes), undefined)
  })

  it('has an id for every item of the input, that of the client where it gave one', () => {
    const made = kept({
      input: [
        { role: 'user', content: 'x' },
        { id: 'rs_7', type: 'reasoning', summary: [] },
        { type: 'function_call_output', call_id: 'c', output: 'y' },
      ],
    })
    assert.deepEqual(made?.input, [
      { id: 'msg_1_in0', type: 'message', role: 'user', content: 'x' },
      { id: 'rs_7', type: 'reasoning', summary: [] },
      { id: 'item_1_in2', type: 'function_call_output', call_id: 'c', output: 'y' },
    ])
    assert.deepEqual(made?.itemIds, ['msg_1_in0', 'rs_7', 'item_1_in2', 'msg_9'])
  })

  it('has a text as the message that it is', () => {
    const content = [{ type: 'input_text', text: 'Hi' }]
    assert.deepEqual(kept({ input: 'Hi' })?.input, [{ id: 'msg_1_in0', type: 'message', role: 'user', content }])
    assert.deepEqual(kept({ input: null })?.input, [])
  })

  it('does not own the items that it only names', () => {
    const made = kept({ input: [{ id: 'fc_1' }] })
    assert.deepEqual(made?.input, [{ type: 'item_reference', id: 'fc_1' }])
    assert.deepEqual(made?.itemIds, ['msg_9'])
  })
})

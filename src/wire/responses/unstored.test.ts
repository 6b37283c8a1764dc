import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { target } from '../../../test/support/target.ts'
import { applyEdits } from '../json/edit.ts'
import { unstoredEdits } from './unstored.ts'

const SEALED = 'reasoning.encrypted_content'

function edited(text: string, to = target()): string {
  const bytes = Buffer.from(text)
  return applyEdits(bytes, unstoredEdits(bytes, to)).toString()
}

function sent(body: object, to = target()): Record<string, unknown> {
  return JSON.parse(edited(JSON.stringify({ model: 'm', ...body }), to))
}

describe('a request for an upstream that keeps nothing', () => {
  it('says so, and keeps every other byte', () => {
    assert.equal(edited('{ "n":1.50,"input":"\\u00e9" }'), '{ "n":1.50,"input":"\\u00e9" ,"store":false}')
    assert.equal(edited('{"store" : true, "input":[ ]}'), '{"store" : false, "input":[ ]}')
    assert.equal(edited('{"store":null}'), '{"store":false}')
  })

  it('stays the very bytes where it says so already', () => {
    const bytes = Buffer.from('{"store":false,"input":[{"role":"user","content":"id"}]}')
    assert.equal(applyEdits(bytes, unstoredEdits(bytes, target())), bytes)
  })

  it('asks for sealed reasoning where it speaks of reasoning, once', () => {
    assert.deepEqual(sent({ reasoning: { effort: 'low' } }).include, [SEALED])
    assert.deepEqual(sent({ reasoning: {}, include: ['x'] }).include, ['x', SEALED])
    assert.deepEqual(sent({ reasoning: {}, include: [SEALED, 'x'] }).include, [SEALED, 'x'])
    for (const reasoning of [undefined, null, { effort: 'none' }]) assert.ok(!('include' in sent({ reasoning })))
  })

  it('asks for it also where the answer is kept and the model is known to reason', () => {
    const reasons = target({ capabilities: ['tools', 'reasoning'] })
    assert.deepEqual(sent({}, reasons).include, [SEALED])
    assert.ok(!('include' in sent({ store: false }, reasons)))
    assert.ok(!('include' in sent({}, target({ capabilities: ['tools'] }))))
  })

  it('does not ask hosts that would refuse it', () => {
    assert.ok(!('include' in sent({ reasoning: {} }, target({ quirks: { encryptedReasoning: false } }))))
  })

  it('names no items that the upstream does not have, except those of its own tools', () => {
    const text =
      '{"input":[ {"id":"msg_1","role":"user","content":"a"}, {"type":"function_call","call_id":"c" , "id":"fc_1"},' +
      '{"type":"web_search_call","id":"ws_1"}],"store":false}'
    assert.equal(
      edited(text),
      '{"input":[ {"role":"user","content":"a"}, {"type":"function_call","call_id":"c"},' +
        '{"type":"web_search_call","id":"ws_1"}],"store":false}',
    )
  })

  it('leaves out reasoning of which it has no more than the name', () => {
    const reasoning = (fields: object) => ({ type: 'reasoning', id: 'rs_1', summary: [], ...fields })
    const { input } = sent({
      input: [
        reasoning({}),
        reasoning({ encrypted_content: null }),
        reasoning({ encrypted_content: 'sealed' }),
        reasoning({ content: [{ type: 'reasoning_text', text: 'Hm.' }] }),
        reasoning({ content: [] }),
      ],
    })
    assert.deepEqual(input, [
      { type: 'reasoning', summary: [], encrypted_content: 'sealed' },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    ])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Tool } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import {
  adapting,
  assistant,
  calling,
  callOf,
  resulting,
  results,
  say,
  user,
} from '../../../test/support/conversation.ts'
import { cutPlaces, cutText } from '../../../test/support/cut.ts'
import { adaptCustomTools } from './custom-tools.ts'

const PATCH: Tool = {
  kind: 'custom',
  name: 'apply_patch',
  description: 'Changes files.',
  grammar: { syntax: 'lark', definition: 'start: "*** Begin Patch"' },
}
const FIND: Tool = { kind: 'function', name: 'find' }
const CALL: Call = callOf([user(say('Go'))], { tools: [PATCH, FIND] })

function events(name: string, fragments: readonly string[]): CallEvent[] {
  return [
    { type: 'response-start', id: 'r', model: 'm', createdAt: 1 },
    { type: 'part-start', choice: 0, part: 0, kind: 'text' },
    { type: 'part-delta', choice: 0, part: 0, text: '{"input":"so' },
    { type: 'part-end', choice: 0, part: 0 },
    { type: 'part-start', choice: 0, part: 1, kind: 'tool-call', id: 'c', name, toolKind: 'function' },
    ...fragments.map((text): CallEvent => ({ type: 'part-delta', choice: 0, part: 1, text })),
    { type: 'part-end', choice: 0, part: 1 },
    { type: 'choice-end', choice: 0, finish: { reason: 'tool-calls', raw: 'tool_use' } },
    { type: 'response-end' },
  ]
}

function streamed(name: string, fragments: readonly string[]): unknown {
  const adapt = adapting(adaptCustomTools, CALL).adaptEvents?.() ?? (event => [event])
  return collectEvents(events(name, fragments).flatMap(adapt)).choices[0]?.parts
}

function whole(name: string, written: string): unknown {
  const { adaptResult } = adapting(adaptCustomTools, CALL)
  const parts = [say('{"input":"so'), calling('c', { name, arguments: written })]
  const choices = [{ index: 0, parts, finish: { reason: 'tool-calls', raw: undefined } as const }]
  return adaptResult?.({ id: '', model: '', createdAt: 0, choices, usage: undefined, extensions: {} }).choices[0]?.parts
}

describe('a tool that takes free text', () => {
  it('is a function with the text as its one argument where tools take JSON only', () => {
    for (const upstream of ['messages', 'generate-content'] as const) {
      const [tool, other] = adapting(adaptCustomTools, CALL, { upstream }).call.tools ?? []
      assert.ok(tool?.kind === 'function')
      assert.equal(tool.name, 'apply_patch')
      assert.match(tool.description ?? '', /^Changes files\..*`input`.*lark grammar:\n\nstart: "\*\*\* Begin Patch"$/s)
      const { required } = tool.parameters as { required: unknown }
      assert.deepEqual(required, ['input'])
      assert.equal(other, FIND)
    }
  })

  it('stays what it is where there are such tools, unless the host knows none', () => {
    for (const upstream of ['chat-completions', 'responses'] as const) {
      assert.equal(adapting(adaptCustomTools, CALL, { upstream }).call, CALL)
      const quirks = { customTools: false }
      assert.equal(adapting(adaptCustomTools, CALL, { upstream, quirks }).call.tools?.[0]?.kind, 'function')
    }
  })

  it('has its calls of the conversation so far made calls of that function', () => {
    const written = calling('c', { kind: 'custom', name: 'apply_patch', arguments: 'a "b"\n' })
    const history = [user(say('Go')), assistant(written), results(resulting('c', say('Done')))]
    const { messages } = adapting(adaptCustomTools, { ...CALL, messages: history }).call
    const made = { ...written, kind: 'function', arguments: '{"input":"a \\"b\\"\\n"}' }
    assert.deepEqual(messages, [history[0], assistant(made as typeof written), history[2]])
  })

  it('is called with free text in the answer, whole and streamed alike, however it is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), cutPlaces, (text, places) => {
        const written = JSON.stringify({ input: text })
        const parts = [say('{"input":"so'), calling('c', { kind: 'custom', name: 'apply_patch', arguments: text })]
        assert.deepEqual(whole('apply_patch', written), parts)
        assert.deepEqual(streamed('apply_patch', cutText(written, places)), parts)
      }),
    )
  })

  it('leaves other calls and texts alone', () => {
    const parts = [say('{"input":"so'), calling('c', { name: 'find', arguments: '{"input":"x"}' })]
    assert.deepEqual(whole('find', '{"input":"x"}'), parts)
    assert.deepEqual(streamed('find', ['{"input":', '"x"}']), parts)
  })

  it('is given what the model wrote when it did not keep to the function', () => {
    const parts = [say('{"input":"so'), calling('c', { kind: 'custom', name: 'apply_patch', arguments: '{"patch":1}' })]
    assert.deepEqual(whole('apply_patch', '{"patch":1}'), parts)
    assert.deepEqual(streamed('apply_patch', ['{"pa', 'tch":1}']), parts)
    const cut = [say('{"input":"so'), calling('c', { kind: 'custom', name: 'apply_patch', arguments: '{"inp' })]
    assert.deepEqual(whole('apply_patch', '{"inp'), cut)
    assert.deepEqual(streamed('apply_patch', ['{"i', 'np']), cut)
  })
})

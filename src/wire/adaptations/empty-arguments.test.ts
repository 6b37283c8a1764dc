import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CallEvent } from '#core/call-event.ts'
import { adapting, assistant, calling, callOf } from '../../../test/support/conversation.ts'
import { adaptEmptyArguments } from './empty-arguments.ts'

const EMPTY = calling('a', { arguments: '' })
const FREE = calling('a', { kind: 'custom', arguments: '' })
const BROKEN = calling('a', { arguments: '{"x":' })

describe('a function called with nothing', () => {
  it('is called with an empty object, in the history and in an answer', () => {
    const { call, adaptResult } = adapting(adaptEmptyArguments, callOf([assistant(EMPTY, FREE, BROKEN)]))
    assert.deepEqual(call.messages, [assistant(calling('a'), FREE, BROKEN)])
    const finish = { reason: 'tool-calls', raw: undefined } as const
    const choices = [{ index: 0, parts: [EMPTY, FREE], finish }]
    const result = { id: '', model: '', createdAt: 0, choices, usage: undefined, extensions: {} }
    assert.deepEqual(adaptResult?.(result).choices[0]?.parts, [calling('a'), FREE])
  })

  it('is called with an empty object in a stream', () => {
    const adapt = adapting(adaptEmptyArguments, callOf([])).adaptEvents?.() ?? (() => [])
    const written = (toolKind: 'function' | 'custom', ...fragments: string[]) => {
      const events: CallEvent[] = [
        { type: 'part-start', choice: 0, part: 0, kind: 'tool-call', id: 'a', name: 'f', toolKind },
        ...fragments.map((text): CallEvent => ({ type: 'part-delta', choice: 0, part: 0, text })),
        { type: 'part-end', choice: 0, part: 0 },
      ]
      return events.flatMap(adapt).flatMap(event => (event.type === 'part-delta' ? event.text : []))
    }
    assert.deepEqual(written('function'), ['{}'])
    assert.deepEqual(written('function', ' '), [' ', '{}'])
    assert.deepEqual(written('function', '{"x"', ':1}'), ['{"x"', ':1}'])
    assert.deepEqual(written('custom'), [])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call } from '#core/call.ts'
import { adapting, assistant, calling, callOf, resulting, results } from '../../../test/support/conversation.ts'
import { adaptToolIds } from './tool-ids.ts'

function conversation(ids: readonly string[]): Call {
  return callOf([assistant(...ids.map(id => calling(id))), results(...ids.map(id => resulting(id)))])
}

function idsOf({ messages }: Call): (string | undefined)[][] {
  return messages.map(({ parts }) =>
    parts.map(part => (part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.callId : undefined)),
  )
}

describe('ids of tool calls', () => {
  it('that an upstream would refuse are others there, each its own, the same in call and result', () => {
    const upstreams = [
      ['messages', {}, /^[a-zA-Z0-9_-]+$/],
      ['chat-completions', {}, /^.{1,40}$/s],
      ['responses', {}, /^.{1,64}$/s],
      ['chat-completions', { shortToolIds: true }, /^[A-Za-z0-9]{9}$/],
    ] as const
    const anyId = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.constantFrom('call.1', 'call/1', 'call_1', ''),
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(anyId, { maxLength: 8 }),
        fc.constantFrom(...upstreams),
        (ids, [upstream, quirks, allowed]) => {
          const [called = [], answered] = idsOf(adapting(adaptToolIds, conversation(ids), { upstream, quirks }).call)
          assert.deepEqual(answered, called)
          assert.equal(new Set(called).size, ids.length)
          for (const [index, id] of called.entries()) {
            assert.match(id ?? '', allowed)
            if (allowed.test(ids[index] ?? '')) assert.equal(id, ids[index])
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('that fit stay as they are', () => {
    const call = conversation(['call_1', 'toolu_2'])
    assert.deepEqual(adapting(adaptToolIds, call), { call })
    const odd = conversation(['a/b.c', ''])
    assert.deepEqual(adapting(adaptToolIds, odd, { upstream: 'generate-content' }), { call: odd })
  })
})

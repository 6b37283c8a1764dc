import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Message, ToolResultPart } from '#core/call.ts'
import { call as anyCall } from '../../../test/support/arbitrary-call.ts'
import {
  adapting,
  assistant,
  calling,
  callOf,
  resulting,
  results,
  say,
  system,
  user,
} from '../../../test/support/conversation.ts'
import { adaptToolPairs } from './tool-pairs.ts'

function paired(...messages: Message[]): readonly Message[] {
  return adapting(adaptToolPairs, callOf(messages)).call.messages
}

describe('calls of tools and their results', () => {
  it('stand together, results in the order of the calls, whatever came between them', () => {
    const late: ToolResultPart = { ...resulting('a', say('1')), isError: true }
    assert.deepEqual(
      paired(
        user(say('Go')),
        assistant(calling('a')),
        assistant(say('And'), calling('b')),
        results(resulting('b', say('2'))),
        user(say('Well?'), late),
        system(say('Be brief.')),
        assistant(say('So.')),
      ),
      [
        user(say('Go')),
        assistant(calling('a'), say('And'), calling('b')),
        results(late, resulting('b', say('2'))),
        user(say('Well?')),
        system(say('Be brief.')),
        assistant(say('So.')),
      ],
    )
  })

  it('are made whole: a call without a result gets one that says so, a result without a call becomes text', () => {
    const { call, warnings } = adapting(
      adaptToolPairs,
      callOf([
        user(say('Go')),
        assistant(calling('a'), calling('b')),
        results(resulting('z', say('9')), resulting('b')),
      ]),
    )
    const missing = { ...resulting('a', say('The tool was not run.')), isError: true }
    assert.deepEqual(call.messages, [
      user(say('Go')),
      assistant(calling('a'), calling('b')),
      results(missing, resulting('b')),
      user(say('Result of the tool call z:'), say('9')),
    ])
    assert.deepEqual(warnings, [
      'a tool call without its result has no equivalent in messages',
      'a tool result without its call has no equivalent in messages',
    ])
  })

  it('are made whole at the end of a conversation, too, and before its beginning', () => {
    assert.deepEqual(
      paired(results(resulting('x')), assistant(calling('a'))).map(({ role }) => role),
      ['user', 'assistant', 'tool'],
    )
  })

  it('belong together one by one when a host gave all calls the same id', () => {
    const [, , answered] = paired(
      user(say('Go')),
      assistant(calling('a'), calling('a')),
      results(resulting('a', say('1')), resulting('a', say('2'))),
    )
    assert.deepEqual(answered, results(resulting('a', say('1')), resulting('a', say('2'))))
  })

  it('leaves a conversation without tools as it is', () => {
    const call = callOf([assistant(say('a')), assistant(say('b'))])
    assert.equal(adapting(adaptToolPairs, call).call, call)
  })

  it('are in order in every conversation, with nothing lost and nothing left to do', () => {
    fc.assert(
      fc.property(anyCall, call => {
        const { messages } = adapting(adaptToolPairs, call).call
        const idsOf = (message: Message | undefined, type: 'tool-call' | 'tool-result') =>
          (message?.parts ?? []).flatMap(part => {
            if (part.type !== type) return []
            return part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.callId : []
          })
        for (const [index, message] of messages.entries()) {
          const calls = idsOf(messages[index - 1], 'tool-call')
          assert.deepEqual(idsOf(message, 'tool-result'), calls)
        }
        const count = (of: readonly Message[]) => of.flatMap(each => idsOf(each, 'tool-call')).length
        assert.equal(count(messages), count(call.messages))
        const again = adapting(adaptToolPairs, { ...call, messages })
        assert.deepEqual([again.call.messages, again.warnings ?? []], [messages, []])
      }),
      { numRuns: 300 },
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
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
import { adaptToolResults } from './tool-results.ts'

const IMAGE: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } }
const FAILED = { ...resulting('a', say('No such file.')), isError: true }

describe('results of tools', () => {
  it('say in words that they are errors where there is no flag for it', () => {
    const call = callOf([assistant(calling('a')), results(FAILED)])
    for (const upstream of ['chat-completions', 'responses'] as const) {
      const { messages } = adapting(adaptToolResults, call, { upstream }).call
      assert.deepEqual(messages[1], results(resulting('a', say('Error: No such file.'))))
    }
    for (const upstream of ['messages', 'generate-content'] as const) {
      assert.deepEqual(adapting(adaptToolResults, call, { upstream }).call, call)
    }
    const wordless = callOf([results({ ...resulting('a', IMAGE), isError: true })])
    const told = adapting(adaptToolResults, wordless, { upstream: 'responses' }).call
    assert.deepEqual(told.messages, [results(resulting('a', say('Error'), IMAGE))])
  })

  it('hand their images to the user where they have none, after all results of the turn', () => {
    const call = callOf([
      assistant(calling('a'), calling('b')),
      results(resulting('a', IMAGE), resulting('b', say('two'), IMAGE)),
      user(say('Well?')),
    ])
    const { messages } = adapting(adaptToolResults, call, { upstream: 'chat-completions' }).call
    assert.deepEqual(messages.slice(1), [
      results(resulting('a', say('See the next message of the user.')), resulting('b', say('two'))),
      user(say('From the tool call a:'), IMAGE, say('From the tool call b:'), IMAGE),
      user(say('Well?')),
    ])
    assert.deepEqual(adapting(adaptToolResults, call, { upstream: 'responses' }).call, call)
  })
})

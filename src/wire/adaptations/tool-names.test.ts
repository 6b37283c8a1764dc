import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
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
import type { FormatName } from '../format.ts'
import { adaptToolNames } from './tool-names.ts'

const MCP = `mcp__${'a-server-with-a-long-name__'.repeat(3)}read/file.v2`
const FORMATS: readonly FormatName[] = ['chat-completions', 'responses', 'messages', 'generate-content']

/** What the vendors document, in words of their own. */
function isTaken(name: string, format: FormatName): boolean {
  if (format === 'generate-content') return /^[A-Za-z_][\w.:-]*$/.test(name) && name.length <= 64
  return /^[\w-]+$/.test(name) && name.length <= (format === 'messages' ? 128 : 64)
}

function toolsOf(call: Call): string[] {
  return (call.tools ?? []).map(tool => (tool.kind === 'opaque' ? '' : tool.name))
}

function answer(name: string): Result {
  const finish = { reason: 'tool-calls', raw: undefined } as const
  const parts = [calling('x', { name })]
  return { id: '', model: '', createdAt: 0, choices: [{ index: 0, parts, finish }], usage: undefined, extensions: {} }
}

describe('names of tools', () => {
  it('that an upstream would refuse are others there, in tools, choice, history and results alike', () => {
    const call = callOf(
      [
        user(say('Go')),
        assistant(calling('a', { name: MCP }), calling('b', { name: 'gone.tool' })),
        results({ ...resulting('a'), name: MCP }, resulting('b')),
      ],
      {
        tools: [
          { kind: 'function', name: MCP },
          { kind: 'custom', name: 'run' },
        ],
        toolChoice: { mode: 'tool', name: MCP },
      },
    )
    const { call: adapted } = adapting(adaptToolNames, call, { upstream: 'responses' })
    const [renamed = '', run] = toolsOf(adapted)
    assert.match(renamed, /^mcp__a-server-with-a-long-name__[\w-]{32}$/)
    assert.equal(run, 'run')
    assert.deepEqual(adapted.toolChoice, { mode: 'tool', name: renamed })
    const parts = adapted.messages.flatMap(message => message.parts)
    const names = parts.map(part => ('name' in part ? part.name : undefined))
    assert.equal(names[1], renamed)
    assert.match(names[2] ?? '', /^gone_tool_[0-9a-f]{12}$/)
    assert.equal(names[3], renamed)
  })

  it('are the client’s own again in answers, whole and streamed', () => {
    const call = callOf([user(say('Go'))], { tools: [{ kind: 'function', name: MCP }] })
    const { call: adapted, adaptResult, adaptEvents } = adapting(adaptToolNames, call)
    const [renamed = ''] = toolsOf(adapted)
    assert.deepEqual(adaptResult?.(answer(renamed)), answer(MCP))
    const opening = {
      type: 'part-start',
      choice: 0,
      part: 0,
      kind: 'tool-call',
      id: 'x',
      toolKind: 'function',
    } as const
    const start = (name: string): CallEvent => ({ ...opening, name })
    assert.deepEqual(adaptEvents?.()(start(renamed)), [start(MCP)])
    assert.deepEqual(adaptEvents?.()(start('f')), [start('f')])
  })

  it('that fit stay as they are', () => {
    const call = callOf([user(say('Go'))], { tools: [{ kind: 'function', name: 'a'.repeat(128) }] })
    assert.deepEqual(adapting(adaptToolNames, call), { call })
    assert.notDeepEqual(toolsOf(adapting(adaptToolNames, call, { upstream: 'responses' }).call), toolsOf(call))
    const dotted = callOf([], { tools: [{ kind: 'function', name: 'a.b:c' }] })
    assert.deepEqual(adapting(adaptToolNames, dotted, { upstream: 'generate-content' }), { call: dotted })
  })

  it('are taken by every upstream, never the same for two, the same in every turn, and found again', () => {
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 150 }),
      fc.stringMatching(/^[a.]{1,3}$/),
      fc.stringMatching(/^[a.]{64,66}$/),
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(...FORMATS),
        (names, upstream) => {
          const call = callOf([], { tools: names.map(each => ({ kind: 'function', name: each })) })
          const { call: adapted, adaptResult = each => each } = adapting(adaptToolNames, call, { upstream })
          const renamed = toolsOf(adapted)
          assert.ok(renamed.every(each => isTaken(each, upstream)))
          assert.equal(new Set(renamed).size, names.length)
          assert.deepEqual(
            renamed.map(each => adaptResult(answer(each))),
            names.map(answer),
          )
          assert.deepEqual(toolsOf(adapting(adaptToolNames, call, { upstream }).call), renamed)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('do not take the place of one that fits', () => {
    const renamedOf = (...names: string[]) =>
      toolsOf(adapting(adaptToolNames, callOf([], { tools: names.map(name => ({ kind: 'function', name })) })).call)
    const [alone = ''] = renamedOf('a.b')
    assert.equal(new Set(renamedOf('a.b', alone)).size, 2)
    assert.equal(renamedOf('a.b', alone)[1], alone)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { closestIds } from './suggest.ts'

const IDS = ['gpt-5', 'gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-pro', 'gemini-2.5-flash', 'meta/llama-3.3-70b']

describe('closestIds', () => {
  it('finds what was meant behind slips of the finger', () => {
    const slips: [string, string][] = [
      ['gtp-5', 'gpt-5'],
      ['gpt-5-mni', 'gpt-5-mini'],
      ['gpt-5-miini', 'gpt-5-mini'],
      ['gpt-5-mimi', 'gpt-5-mini'],
      ['calude-sonnet-4-5', 'claude-sonnet-4-5'],
    ]
    for (const [slip, id] of slips) assert.equal(closestIds(slip, IDS)[0], id)
  })

  it('minds neither case nor separators nor the name of a vendor', () => {
    for (const spelled of ['GPT-5-MINI', 'gpt5mini', 'gpt_5.mini', 'openai/gpt-5-mini']) {
      assert.equal(closestIds(spelled, IDS)[0], 'gpt-5-mini')
    }
    assert.equal(closestIds('llama-3.3-70b', IDS)[0], 'meta/llama-3.3-70b')
  })

  it('suggests nothing for another word', () => {
    for (const text of ['whisper-1', 'x', '', '模型', '///']) assert.deepEqual(closestIds(text, IDS), [])
  })

  it('suggests at most three, the likeliest first', () => {
    const ids = ['abcdef5', 'abcdef4', 'abcdef', 'abcdeg', 'abcxyz']
    assert.deepEqual(closestIds('abcdef', ids), ['abcdef', 'abcdef5', 'abcdef4'])
  })

  it('finds any id again after one slip in it', () => {
    const slip = fc.record({ at: fc.nat(), kind: fc.constantFrom('drop', 'double', 'replace', 'swap') })
    fc.assert(
      fc.property(fc.constantFrom(...IDS), slip, (id, { at, kind }) => {
        const i = at % (id.length - 1)
        const [a = '', b = ''] = id.slice(i)
        const slipped = { drop: b, double: a + a + b, replace: `x${b}`, swap: b + a }[kind]
        const found = closestIds(id.slice(0, i) + slipped + id.slice(i + 2), IDS)
        assert.ok(found.includes(id), `${id} → ${id.slice(0, i) + slipped + id.slice(i + 2)} → ${found}`)
      }),
      { numRuns: 300 },
    )
  })

  it('reads no further than any id could be long', () => {
    assert.deepEqual(closestIds('x'.repeat(1_000_000), IDS), [])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesModel } from './model-name.ts'

const named = (match: Parameters<typeof namesModel>[0], ...ids: string[]) =>
  ids.map(id => namesModel(match, 'an-id', id))

describe('namesModel', () => {
  it('knows a model by its name with a version behind it', () => {
    const match = { starts_with: 'gpt-5' }
    assert.ok(
      named(match, 'gpt-5', 'GPT-5', 'gpt-5-2025-08-07', 'gpt-5-20250807', 'gpt-5-0613', 'gpt-5@001').every(Boolean),
    )
  })

  it('takes nothing else that begins alike for it', () => {
    const match = { starts_with: 'gpt-5' }
    const others = ['gpt-5-turbo', 'gpt-5.1', 'gpt-51', 'gpt-5-mini', 'gpt-5-pro-2025-08-07', 'gpt-5-latest', 'gpt']
    assert.deepEqual(
      others.filter(id => namesModel(match, 'an-id', id)),
      [],
    )
  })

  it('lets only namespaces stand before a name', () => {
    const match = { contains: 'anthropic.claude-opus-4-5' }
    assert.deepEqual(
      named(
        match,
        'us.anthropic.claude-opus-4-5-20251101-v1:0',
        'my-anthropic.claude-opus-4-5',
        'not/anthropic.claude-opus-4-5',
      ),
      [true, false, false],
    )
  })

  it('takes regular expressions only where they spell the whole name', () => {
    assert.deepEqual(named({ regex: '^grok-4\\.3-\\d{8}$' }, 'grok-4.3-20260101', 'grok-4.3-fast'), [true, false])
    assert.deepEqual(named({ and: [{ starts_with: 'pro' }, { regex: '^(?!.*-tts$)' }] }, 'pro', 'professor'), [
      true,
      false,
    ])
  })

  it("takes the book's own id for a name", () => {
    assert.equal(namesModel({ equals: 'other' }, 'The-Id', 'the-id'), true)
  })
})

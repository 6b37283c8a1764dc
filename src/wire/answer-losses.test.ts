import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Part } from '#core/call.ts'
import { lossesOfResult, lossOfEvent } from './answer-losses.ts'
import type { FormatName } from './format.ts'

const data = { kind: 'base64', mediaType: undefined, data: 'AAAA' } as const
const TEXT: Part = { type: 'text', text: 'Hi' }
const IMAGE: Part = { type: 'image', source: data }
const SOUND: Part = { type: 'audio', source: data }
const SPOKEN: Part = { type: 'audio', source: data, transcript: 'Hi' }
const SEARCH: Part = { type: 'opaque', format: 'messages', value: {} }

function losses(client: FormatName, ...parts: Part[]): string[] {
  const choice = { index: 0, parts, finish: { reason: 'stop', raw: undefined } } as const
  return lossesOfResult(
    { id: '', model: '', createdAt: 0, choices: [choice], usage: undefined, extensions: {} },
    client,
  )
}

describe('what an answer loses', () => {
  it('is named once for each kind', () => {
    assert.deepEqual(losses('messages', TEXT, IMAGE, IMAGE, SOUND, SPOKEN, SEARCH), [
      "the answer's image has no equivalent in messages",
      "the answer's audio has no equivalent in messages",
    ])
    assert.deepEqual(losses('responses', SPOKEN, SEARCH), ["the answer's messages part has no equivalent in responses"])
    assert.deepEqual(losses('generate-content', TEXT, IMAGE, SOUND), [])
  })

  it('is named in a stream when the part comes', () => {
    const at = { type: 'part-start', choice: 0, part: 0 } as const
    assert.match(lossOfEvent({ ...at, kind: 'whole', value: IMAGE as never }, 'messages') ?? '', /image/)
    assert.match(lossOfEvent({ ...at, kind: 'audio' }, 'responses') ?? '', /audio/)
    assert.equal(lossOfEvent({ ...at, kind: 'audio' }, 'chat-completions'), undefined)
    assert.equal(lossOfEvent({ ...at, kind: 'text' }, 'messages'), undefined)
  })
})

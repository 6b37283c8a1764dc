import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withBounds } from './estimate-bounds.ts'

const ESTIMATE = { inputTokens: 100, outputTokens: 50 }

function boundsOf(request: unknown) {
  return withBounds(ESTIMATE, Buffer.from(JSON.stringify(request)))
}

describe('withBounds', () => {
  it('rules out sound and long caches for a request that speaks of neither', () => {
    assert.deepEqual(boundsOf({ messages: [{ role: 'user', content: 'Hi' }] }), {
      ...ESTIMATE,
      cacheWrite1hTokens: 0,
      audioInputTokens: 0,
      audioOutputTokens: 0,
    })
  })

  it('leaves sound open where a request has or wants any, in the words of each format', () => {
    for (const request of [
      { modalities: ['text', 'audio'] },
      { generationConfig: { responseModalities: ['AUDIO'] } },
      { content: [{ type: 'input_audio' }] },
      { parts: [{ fileData: { mimeType: 'video/mp4' } }] },
      { parts: [{ fileData: { fileUri: 'https://youtu.be/x' } }] },
    ]) {
      const bounds = boundsOf(request)
      assert.deepEqual([bounds.audioInputTokens, bounds.audioOutputTokens], [undefined, undefined])
    }
  })

  it('reckons with all of the input being written to a cache where the request asks for it', () => {
    const { cacheWriteTokens, cacheWrite1hTokens } = boundsOf({ system: [{ cache_control: { type: 'ephemeral' } }] })
    assert.deepEqual([cacheWriteTokens, cacheWrite1hTokens], [100, 0])
    const hour = boundsOf({ system: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }] })
    assert.equal(hour.cacheWrite1hTokens, 100)
  })
})

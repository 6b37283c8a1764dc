import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ImagePart } from '#core/call.ts'
import { decodeImages, encodeImage } from './images.ts'

describe('images of an answer', () => {
  const drawn: ImagePart = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } }
  const linked: ImagePart = { type: 'image', source: { kind: 'url', url: 'https://a.test/x.png' } }

  it('are read and written as the one host has them that the others follow', () => {
    const wire = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://a.test/x.png' } },
    ]
    assert.deepEqual(decodeImages(wire), [drawn, linked])
    assert.deepEqual([drawn, linked].flatMap(encodeImage), wire)
  })

  it('are none where there is nothing to see', () => {
    for (const nothing of [undefined, null, 'x', [null], [{ type: 'image_url' }], [{ image_url: { url: 5 } }]]) {
      assert.deepEqual(decodeImages(nothing), [])
    }
    assert.deepEqual(encodeImage({ type: 'image', source: { kind: 'file', id: 'f' } }), [])
  })
})

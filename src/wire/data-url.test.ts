import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeUrl, encodeUrl } from './data-url.ts'

describe('data URLs', () => {
  it('are the bytes that they hold, whatever else their head says', () => {
    const cases: [string, string | undefined][] = [
      ['data:image/png;base64,AA==', 'image/png'],
      ['data:image/png;charset=utf-8;base64,AA==', 'image/png'],
      ['data:;base64,AA==', undefined],
    ]
    for (const [url, mediaType] of cases) assert.deepEqual(decodeUrl(url), { kind: 'base64', mediaType, data: 'AA==' })
  })

  it('stay URLs without base64, as all other URLs do', () => {
    for (const url of ['data:text/plain,Hi', 'https://example.com/data:x;base64,AA==', '']) {
      assert.deepEqual(decodeUrl(url), { kind: 'url', url })
      assert.equal(encodeUrl({ kind: 'url', url }), url)
    }
  })

  it('are undone by each other', () => {
    const source = fc.record({
      kind: fc.constant('base64' as const),
      mediaType: fc.constantFrom('image/png', undefined),
      data: fc.base64String(),
    })
    fc.assert(fc.property(source, each => assert.deepEqual({ ...decodeUrl(encodeUrl(each)) }, { ...each })))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeMedia, encodeMedia, type MediaPart, sniffMediaType } from './media.ts'

const base64 = (...bytes: (number | string)[]) =>
  Buffer.concat(bytes.map(each => (typeof each === 'string' ? Buffer.from(each) : Buffer.of(each)))).toString('base64')

const PNG = base64(0x89, 'PNG\r\n', 0x1a, '\n', 0, 0, 0, 0x0d, 'IHDR')

describe('sniffMediaType', () => {
  it('knows files by their first bytes', () => {
    const files: [string, string][] = [
      [PNG, 'image/png'],
      [base64(0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 'JFIF'), 'image/jpeg'],
      [base64('GIF89a', 1, 0), 'image/gif'],
      [base64('RIFF', 0x24, 1, 2, 3, 'WEBPVP8 '), 'image/webp'],
      [base64('RIFF', 0xff, 0xff, 0, 0, 'WAVEfmt '), 'audio/wav'],
      [base64(0, 0, 0, 0x18, 'ftypheic', 0), 'image/heic'],
      [base64(0, 0, 0, 0x1c, 'ftypavif', 0), 'image/avif'],
      [base64(0, 0, 0, 0x14, 'ftypqt  ', 0), 'video/quicktime'],
      [base64(0, 0, 0, 0x20, 'ftypisom', 0), 'video/mp4'],
      [base64(0x1a, 0x45, 0xdf, 0xa3, 1), 'video/webm'],
      [base64('%PDF-1.7'), 'application/pdf'],
    ]
    for (const [data, mediaType] of files) assert.equal(sniffMediaType(data), mediaType)
    assert.equal(sniffMediaType(base64('nothing known')), undefined)
    assert.equal(sniffMediaType(''), undefined)
  })
})

describe('decodeMedia', () => {
  it('takes the kind of a part from its media type', () => {
    const kinds: [string, MediaPart['type']][] = [
      ['image/png', 'image'],
      ['audio/wav', 'audio'],
      ['video/mp4', 'video'],
      ['application/pdf', 'document'],
      ['text/plain', 'document'],
    ]
    for (const [mimeType, type] of kinds) {
      assert.equal(decodeMedia({ inlineData: { mimeType, data: '' } }).type, type)
      assert.equal(decodeMedia({ fileData: { mimeType, fileUri: 'https://example.com/a' } }).type, type)
    }
  })

  it('looks into bytes whose type says nothing', () => {
    for (const mimeType of ['application/octet-stream', 'image/*', undefined]) {
      assert.deepEqual(decodeMedia({ inlineData: { mimeType, data: PNG } }), {
        type: 'image',
        source: { kind: 'base64', mediaType: 'image/png', data: PNG },
      })
    }
  })

  it("takes public addresses for URLs, and those of the vendor's stores for file ids", () => {
    const sourceOf = (fileUri: string) => decodeMedia({ fileData: { mimeType: 'video/mp4', fileUri } }).source.kind
    assert.equal(sourceOf('https://example.com/a.mp4'), 'url')
    assert.equal(sourceOf('gs://bucket/a.mp4'), 'file')
    assert.equal(sourceOf('https://google.example/v1beta/files/abc'), 'file')
  })

  it('takes the type of an address without one from its ending', () => {
    const typeOf = (fileUri: string) => decodeMedia({ fileData: { fileUri } }).type
    assert.equal(typeOf('https://example.com/a.JPG?x=1'), 'image')
    assert.equal(typeOf('https://www.youtube.com/watch?v=1'), 'video')
    assert.equal(typeOf('https://example.com/'), 'document')
  })

  it('names the codec of audio as the neutral form does', () => {
    const formatOf = (mimeType: string) => {
      const part = decodeMedia({ inlineData: { mimeType, data: '' } })
      return part.type === 'audio' && part.format
    }
    assert.deepEqual(['audio/mpeg', 'audio/wav', 'audio/x-wav', 'audio/L16;rate=24000'].map(formatOf), [
      'mp3',
      'wav',
      'wav',
      'L16',
    ])
  })
})

describe('encodeMedia', () => {
  it('always names a media type, as the format demands', () => {
    const inline = (part: Partial<MediaPart>, data: string, mediaType?: string) =>
      encodeMedia({ type: 'image', ...part, source: { kind: 'base64', mediaType, data } } as MediaPart)?.inlineData
    assert.deepEqual(inline({}, 'AAAA', 'image/gif'), { mimeType: 'image/gif', data: 'AAAA' })
    assert.deepEqual(inline({}, PNG, 'image/*'), { mimeType: 'image/png', data: PNG })
    assert.deepEqual(inline({}, '/9j/4AAQ'), { mimeType: 'image/jpeg', data: '/9j/4AAQ' })
    assert.deepEqual(inline({ type: 'document' }, 'AAAA'), { mimeType: 'application/pdf', data: 'AAAA' })
    assert.deepEqual(inline({ type: 'audio', format: 'mp3' }, 'AAAA'), { mimeType: 'audio/mp3', data: 'AAAA' })
    assert.deepEqual(encodeMedia({ type: 'image', source: { kind: 'url', url: 'https://example.com/a.webp' } }), {
      fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp' },
    })
    assert.deepEqual(encodeMedia({ type: 'video', source: { kind: 'url', url: 'https://example.com/a' } }), {
      fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a' },
    })
  })

  it("does not send another vendor's file id", () => {
    assert.equal(encodeMedia({ type: 'document', source: { kind: 'file', id: 'file-abc' } }), undefined)
    assert.ok(encodeMedia({ type: 'document', source: { kind: 'file', id: 'gs://bucket/a.pdf' } }))
  })
})

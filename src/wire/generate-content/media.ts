import type { AudioPart, DocumentPart, ImagePart, Source, VideoPart } from '#core/call.ts'
import { isObject } from '../json/parse.ts'

/** A part whose bytes are a medium, here or elsewhere. */
export type MediaPart = ImagePart | AudioPart | VideoPart | DocumentPart

type Json = Readonly<Record<string, unknown>>

/** How files of a kind begin, a character for a byte. */
const BEGINNINGS: readonly (readonly [beginning: RegExp, mediaType: string])[] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^.{4}ftyp(?:hei|mif)/s, 'image/heic'],
  [/^.{4}ftypavi/s, 'image/avif'],
  [/^.{4}ftypqt/s, 'video/quicktime'],
  [/^.{4}ftyp/s, 'video/mp4'],
  [/^.E\xdf\xa3/s, 'video/webm'],
  [/^%PDF/, 'application/pdf'],
]

/** Base64 characters that hold the longest beginning. */
const HEAD_CHARACTERS = 16

const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['avif', 'image/avif'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['webm', 'video/webm'],
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mp3'],
  ['flac', 'audio/flac'],
  ['ogg', 'audio/ogg'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
])

/** What a part is sent as when nothing tells its media type, which this format demands. */
const BY_KIND: Readonly<Record<MediaPart['type'], string>> = Object.freeze({
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  document: 'application/pdf',
})

const KINDS: ReadonlyMap<string, MediaPart['type']> = new Map([
  ['image', 'image'],
  ['audio', 'audio'],
  ['video', 'video'],
])

/** Types that say nothing: the bytes must. */
const isVague = (mediaType: string) => mediaType === 'application/octet-stream' || mediaType.endsWith('/*')

/** The media type that the first bytes of a file show; `undefined` when they show none that is known here. */
export function sniffMediaType(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, HEAD_CHARACTERS), 'base64').toString('latin1')
  return BEGINNINGS.find(([beginning]) => beginning.test(head))?.[1]
}

/** `inlineData` or `fileData` as a neutral part. */
export function decodeMedia(wire: { readonly inlineData?: unknown; readonly fileData?: unknown }): MediaPart {
  if (isObject(wire.inlineData)) return decodeInline(wire.inlineData)
  return decodeFile(isObject(wire.fileData) ? wire.fileData : {})
}

function decodeInline(blob: Json): MediaPart {
  const data = typeof blob.data === 'string' ? blob.data : ''
  const given = typeof blob.mimeType === 'string' && blob.mimeType !== '' ? blob.mimeType : undefined
  const mediaType = given === undefined || isVague(given) ? (sniffMediaType(data) ?? given) : given
  return mediaPart(mediaType, { kind: 'base64', mediaType, data }, blob.displayName)
}

/** A public address is a URL to every format; a store's address means something to this vendor only. */
function decodeFile(file: Json): MediaPart {
  const uri = typeof file.fileUri === 'string' ? file.fileUri : ''
  const mediaType = typeof file.mimeType === 'string' && file.mimeType !== '' ? file.mimeType : undefined
  const given = mediaType !== undefined && { mediaType }
  const isPublic = /^https?:/i.test(uri) && !VENDOR_FILE.test(uri)
  const source: Source = isPublic ? { kind: 'url', url: uri, ...given } : { kind: 'file', id: uri, ...given }
  return mediaPart(mediaType ?? typeOfUrl(uri), source, file.displayName)
}

/** An object of the vendor's Files API, which only the vendor can read. */
const VENDOR_FILE = /\/v1\w*\/files\/[^/]+$/

const VIDEO_PAGE = /^https?:\/\/(?:www\.)?(?:youtube\.com|youtu\.be)\//i

function typeOfUrl(url: string): string | undefined {
  if (VIDEO_PAGE.test(url)) return 'video/mp4'
  return BY_EXTENSION.get(/\.([a-z0-9]+)(?:[?#].*)?$/i.exec(url)?.[1]?.toLowerCase() ?? '')
}

function mediaPart(mediaType: string | undefined, source: Source, displayName: unknown): MediaPart {
  const type = KINDS.get(mediaType?.split('/')[0] ?? '') ?? 'document'
  if (type === 'audio') return { type, source, format: audioFormat(mediaType ?? '') }
  if (type !== 'document') return { type, source }
  return { type, source, ...(typeof displayName === 'string' && { filename: displayName }) }
}

function audioFormat(mediaType: string): string {
  const subtype = (mediaType.split('/')[1] ?? '').split(';')[0] as string
  return subtype === 'mpeg' ? 'mp3' : subtype.replace(/^x-/, '')
}

/** The wire part of a medium; `undefined` for a file id of another vendor, which this one could not find. */
export function encodeMedia(part: MediaPart): Record<string, unknown> | undefined {
  const { source } = part
  if (source.kind === 'base64') return { inlineData: { mimeType: inlineType(part, source), data: source.data } }
  const fileUri = source.kind === 'url' ? source.url : source.id
  if (!/^[a-z][a-z0-9+.-]*:/i.test(fileUri)) return undefined
  const mimeType = source.mediaType ?? typeOfUrl(fileUri) ?? BY_KIND[part.type]
  return { fileData: { mimeType, fileUri } }
}

function inlineType(part: MediaPart, { mediaType, data }: Extract<Source, { kind: 'base64' }>): string {
  if (mediaType !== undefined && !isVague(mediaType)) return mediaType
  const written = part.type === 'audio' && part.format !== undefined ? `audio/${part.format}` : undefined
  return written ?? sniffMediaType(data) ?? BY_KIND[part.type]
}

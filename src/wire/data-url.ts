import type { Source } from '#core/call.ts'

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/

/** A `data:` URL with base64 becomes its bytes' text, any other URL stays one. */
export function decodeUrl(url: string): Source {
  const match = DATA_URL.exec(url)
  if (!match) return { kind: 'url', url }
  return { kind: 'base64', mediaType: match[1] || undefined, data: url.slice(match[0].length) }
}

/** The inverse of {@link decodeUrl}. */
export function encodeUrl(source: Exclude<Source, { kind: 'file' }>): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType ?? ''};base64,${source.data}`
}

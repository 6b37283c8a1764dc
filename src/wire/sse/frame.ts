/** One server-sent event, decoded. Comments and unknown fields carry no meaning and are dropped. */
export interface Frame {
  readonly event: string | undefined
  /** All `data` lines joined by a line feed; `undefined` when the frame has none (a comment, a keep-alive). */
  readonly data: string | undefined
}

const BYTE_ORDER_MARK = '\uFEFF'

/** Reads the bytes of one frame as `FrameSplitter` cuts them. `id` and `retry` mean nothing to a proxied stream. */
export function decodeFrame(bytes: Buffer): Frame {
  let event: string | undefined
  let data: string | undefined
  const text = bytes.toString('utf8', 0, bytes.length)
  for (const line of (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text).split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const start = line[colon + 1] === ' ' ? colon + 2 : colon + 1
    const value = colon === -1 ? '' : line.slice(start)
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (field === 'event') event = value
  }
  return { event, data }
}

/** The inverse of {@link decodeFrame}; a line feed inside `data` makes several `data` lines. */
export function encodeFrame({ event, data }: Frame): Buffer {
  const lines = data === undefined ? '' : `data: ${data.replaceAll('\n', '\ndata: ')}\n`
  return Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}${lines}\n`)
}

const DATA_PREFIX = Buffer.from('data:')
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** Offsets of a frame's data in its bytes. */
export interface DataSpan {
  readonly start: number
  readonly end: number
}

/**
 * Where the data lies in a frame that is exactly one `data` line, as nearly every frame of every provider is;
 * `undefined` for all others. This lets a value inside the data be edited in place.
 */
export function singleDataSpan(frame: Buffer): DataSpan | undefined {
  if (frame.length < DATA_PREFIX.length || frame.compare(DATA_PREFIX, 0, 5, 0, 5) !== 0) return undefined
  let end = frame.length
  while (frame[end - 1] === LF || frame[end - 1] === CR) end -= 1
  const lf = frame.indexOf(LF)
  const cr = frame.indexOf(CR)
  if ((lf !== -1 && lf < end) || (cr !== -1 && cr < end)) return undefined
  return { start: frame[5] === SPACE ? 6 : 5, end }
}

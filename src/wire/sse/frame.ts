export const SSE_CONTENT_TYPE = 'text/event-stream; charset=utf-8'

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
const EVENT_PREFIX = Buffer.from('event:')
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** Offsets of a frame's data in its bytes. */
export interface DataSpan {
  readonly start: number
  readonly end: number
}

/**
 * Where the data lies in a frame that is exactly one `data` line, with an `event` line before it or not, as nearly
 * every frame of every provider is; `undefined` for all others. This lets a value inside the data be edited in place.
 */
export function singleDataSpan(frame: Buffer): DataSpan | undefined {
  const from = startsWith(frame, EVENT_PREFIX, 0) ? nextLine(frame) : 0
  if (!startsWith(frame, DATA_PREFIX, from)) return undefined
  let end = frame.length
  while (frame[end - 1] === LF || frame[end - 1] === CR) end -= 1
  const lf = frame.indexOf(LF, from)
  const cr = frame.indexOf(CR, from)
  if ((lf !== -1 && lf < end) || (cr !== -1 && cr < end)) return undefined
  return { start: frame[from + 5] === SPACE ? from + 6 : from + 5, end }
}

function startsWith(frame: Buffer, prefix: Buffer, from: number): boolean {
  const end = from + prefix.length
  return frame.length >= end && frame.compare(prefix, 0, prefix.length, from, end) === 0
}

/** Where the second line begins. */
function nextLine(frame: Buffer): number {
  let at = 0
  while (at < frame.length && frame[at] !== LF && frame[at] !== CR) at += 1
  return frame[at] === CR && frame[at + 1] === LF ? at + 2 : at + 1
}

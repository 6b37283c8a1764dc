import type { HeaderMap, Sink } from '#core/sink.ts'

/** What is given to the socket at once: a client that reads slowly does not make the gateway hold more. */
const PIECE_BYTES = 64 * 1024
const EVENT_END = '\n\n'

/** Sends a recorded stream as a stream, no faster than the client takes it. Resolves when it is out or nobody reads. */
export async function replayStream(sink: Sink, headers: HeaderMap, body: Buffer): Promise<void> {
  let wake = () => {}
  sink.watch({ drained: () => wake(), gone: () => wake() })
  sink.open(200, headers)
  for (const piece of piecesOf(body)) {
    if (sink.isGone) return
    if (!sink.write(piece)) await new Promise<void>(resolve => (wake = resolve))
  }
  sink.watch(undefined)
  sink.end()
}

/** Cut behind the end of an event where there is one, so that no event is split among pieces without need. */
export function* piecesOf(body: Buffer, bytesMax = PIECE_BYTES): Generator<Buffer> {
  for (let start = 0; start < body.length; ) {
    const piece = body.subarray(start, start + bytesMax)
    const eventEnd = start + bytesMax < body.length ? piece.lastIndexOf(EVENT_END) : -1
    const length = eventEnd === -1 ? piece.length : eventEnd + EVENT_END.length
    yield piece.subarray(0, length)
    start += length
  }
}

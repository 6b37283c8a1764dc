import type { HeaderMap, Sink } from '#core/sink.ts'

/**
 * Sends an answer of unknown length, no faster than the client takes it.
 *
 * @param chunks read one at a time, and let go of when the client has gone
 */
export async function sendStream(
  sink: Sink,
  { status, headers }: { status: number; headers: HeaderMap },
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  let wake = () => {}
  sink.watch({ drained: () => wake(), gone: () => wake() })
  for await (const chunk of chunks) {
    if (!sink.isOpen) sink.open(status, headers)
    if (!sink.write(chunk)) await new Promise<void>(resolve => (wake = resolve))
    if (sink.isGone) return
  }
  sink.end()
}

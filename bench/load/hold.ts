import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from './connection.ts'
import type { LoadOrder, LoadResult } from './order.ts'
import { Tally } from './tally.ts'

/** Streams open this far apart: a proxy's memory under a flood of connections is another question. */
const STAGGER_MS = 2

/** Opens streams that do not end, and keeps reading from them until the time is over. */
export async function hold({ port, request, connections = 1, durationMs }: LoadOrder): Promise<LoadResult> {
  const tally = new Tally()
  const endMs = performance.now() + durationMs
  const bytes = Buffer.from(request)
  const held: Connection[] = []
  let isOver = false
  for (let i = 0; i < connections; i++) {
    const connection = new Connection(port, 0)
    held.push(connection)
    connection.ask(bytes, verdict => {
      if (!isOver) tally.answered(0, `a stream ended: ${verdict ?? 'well'}`, 0)
    })
    await sleep(STAGGER_MS)
  }
  await sleep(Math.max(0, endMs - performance.now()))
  isOver = true
  for (const connection of held) {
    tally.answered(0, connection.events > 0 ? undefined : 'a stream without an event', connection.events)
    connection.close()
  }
  return tally.result()
}

import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, type Verdict } from './connection.ts'
import type { LoadOrder, LoadResult } from './order.ts'
import { Tally } from './tally.ts'

/** Streams start this far apart, so that they neither begin nor end all at once. */
const STREAM_STAGGER_MS = 5

/**
 * As many requests under way as there are connections, each followed by the next one until the time is over; those
 * under way then are let end. It finds the most that a proxy can do, and says little about latency.
 */
export async function closedLoop(order: LoadOrder): Promise<LoadResult> {
  const { port, events, durationMs, connections = 1 } = order
  const request = Buffer.from(order.request)
  const tally = new Tally()
  const endMs = performance.now() + durationMs
  const run = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let connection = new Connection(port, events)
    const ask = (): void => {
      const askedAtMs = performance.now()
      if (askedAtMs >= endMs) {
        connection.close()
        return resolve()
      }
      if (connection.isBroken) connection = new Connection(port, events)
      connection.ask(request, (verdict: Verdict, seen: number) => {
        tally.answered(performance.now() - askedAtMs, verdict, seen)
        if (verdict === undefined) ask()
        // A proxy that fails at once is not to be asked as fast as it fails.
        else setTimeout(ask, 10)
      })
    }
    ask()
    return promise
  }
  const running: Promise<void>[] = []
  for (let i = 0; i < connections; i++) {
    running.push(run())
    if (events > 0) await sleep(STREAM_STAGGER_MS)
  }
  await Promise.all(running)
  return tally.result()
}

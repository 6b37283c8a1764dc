import { Connection } from './connection.ts'
import type { LoadOrder, LoadResult } from './order.ts'
import { Pacer } from './pacer.ts'
import { Tally } from './tally.ts'

const CONNECTIONS_MAX = 2_000

/**
 * Requests at moments that were fixed beforehand, whether or not earlier ones have been answered. A latency counts
 * from the moment when the request was due: neither a proxy that is stuck nor a generator that is late can make the
 * waiting disappear (no coordinated omission).
 */
export async function openLoop(order: LoadOrder): Promise<LoadResult> {
  const { port, events, durationMs, rate = 1 } = order
  const request = Buffer.from(order.request)
  const tally = new Tally()
  const idle: Connection[] = []
  let open = 0
  let underWay = 0
  const allAnswered = Promise.withResolvers<void>()
  let isOver = false
  const send = (dueMs: number): void => {
    tally.late(performance.now() - dueMs)
    let connection = idle.pop()
    while (connection?.isBroken) {
      open -= 1
      connection = idle.pop()
    }
    if (!connection) {
      if (open >= CONNECTIONS_MAX) return tally.answered(0, 'no connection left', 0)
      open += 1
      connection = new Connection(port, events)
    }
    const asked = connection
    underWay += 1
    asked.ask(request, (verdict, seen) => {
      underWay -= 1
      tally.answered(performance.now() - dueMs, verdict, seen)
      idle.push(asked)
      if (isOver && underWay === 0) allAnswered.resolve()
    })
  }
  await new Pacer({ rate, durationMs }).run(send)
  isOver = true
  if (underWay > 0) await allAnswered.promise
  for (const connection of idle) connection.close()
  return tally.result()
}

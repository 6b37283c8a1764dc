import type { LoadResult } from '../load/order.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { residentMebibytes } from '../rig/process-stats.ts'
import { chatRequestBytes } from '../rig/request.ts'
import { residentWhile } from '../rig/resident.ts'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { measure } from '../rig/section.ts'
import { STREAM_PLAN, streamOrder } from './streaming.ts'
import type { SuiteContext } from './suite.ts'
import { wholeOrder } from './throughput.ts'

const STREAMS = 2_000
const RESIDENT_MEBIBYTES_MAX = 350
/** Each stream gets a word a second, and goes on for longer than it is held. */
const SLOW_PLAN = { words: 100_000, intervalMs: 1_000 }

/** Resident memory with many streams open at once, in a process that has worked before. */
export async function memory({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  const rows: Row[] = []
  for (const proxy of await startContenders(rig, ['tollgate', 'bare'])) {
    await rig.planUpstream(STREAM_PLAN)
    await measure(rig, proxy, wholeOrder(proxy, isQuick ? 500 : 5_000))
    await measure(rig, proxy, streamOrder(proxy, isQuick ? 500 : 5_000))
    const before = residentMebibytes(proxy.process.pid)
    await rig.planUpstream(SLOW_PLAN)
    const highest = await highestWhileHeld(rig, proxy, isQuick ? 10_000 : 30_000)
    say(`${proxy.name}: ${before.toFixed(0)} MiB after the warm-up, ${highest.toFixed(0)} MiB with ${STREAMS} streams`)
    const target = proxy.name === 'tollgate' ? { target: { atMost: RESIDENT_MEBIBYTES_MAX } } : {}
    rows.push(
      { suite: 'memory', name: `${proxy.name}, ${STREAMS} open streams`, unit: 'MiB', values: [highest], ...target },
      { suite: 'memory', name: `${proxy.name}, before them`, unit: 'MiB', values: [before] },
    )
  }
  return rows
}

async function highestWhileHeld(rig: Rig, proxy: Contender, durationMs: number): Promise<number> {
  const request = chatRequestBytes(proxy, { isStream: true })
  const held = rig.load({ kind: 'hold', port: proxy.port, request, events: 0, connections: STREAMS, durationMs })
  const samples = await residentWhile(proxy.process, held)
  assertHeld(await held)
  return Math.max(...samples)
}

function assertHeld({ requests, errors }: LoadResult): void {
  const [what] = Object.keys(errors)
  if (what !== undefined) throw new Error(`of ${requests} streams not all were held: ${what}`)
}

import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Format } from '../canned/formats.ts'
import type { LoadOrder } from '../load/order.ts'
import type { Contender } from '../rig/contenders.ts'
import { type Heat, readHotness } from '../rig/hot-functions.ts'
import { laneOrder, openLane } from '../rig/lane.ts'
import { Rig } from '../rig/rig.ts'
import { measure } from '../rig/section.ts'
import { startTollgate } from '../rig/tollgate.ts'
import { STREAM_PLAN, STREAMS, streamOrder } from './streaming.ts'
import type { SuiteContext } from './suite.ts'
import { wholeOrder } from './throughput.ts'

/** A suite whose load is profiled, and for `formats` the pair. */
export type Profiled =
  | { readonly suite: 'throughput' | 'streaming' }
  | { readonly suite: 'formats'; readonly client: Format; readonly upstream: Format }

const PROFILER = path.resolve(import.meta.dirname, '../rig/profiler.ts')
const WARM_UP_MS = 5_000
const PROFILED_MS = 10_000
const WRITTEN_MS_MAX = 30_000
const SELF_SHOWN = 40
const TOTAL_SHOWN = 30
const ORIGIN_SHOWN = 20

const ORDERS = { throughput: wholeOrder, streaming: streamOrder } as const

/** Where Tollgate's time goes under a suite's load. @returns a text for people */
export async function profile(profiled: Profiled, { session, say }: SuiteContext): Promise<string> {
  await using rig = await Rig.create(session)
  await rig.planUpstream(STREAM_PLAN)
  const file = path.join(rig.folder, 'profile.cpuprofile')
  const tollgate = await startTollgate(rig, {
    nodeArgs: ['--import', PROFILER],
    environment: { BENCH_PROFILE: file },
  })
  const order = await orderOf(profiled, tollgate)
  say('warming up')
  await measure(rig, tollgate, order(WARM_UP_MS))
  say('profiling')
  tollgate.process.signal('SIGUSR2')
  const { requests, events } = await measure(rig, tollgate, order(PROFILED_MS))
  tollgate.process.signal('SIGUSR2')
  await written(file)
  const { busyMicros, self, total, origin } = await readHotness(file)
  const [count, what] = profiled.suite === 'throughput' ? [requests, 'request'] : [events, 'chunk']
  const section = (title: string, heats: readonly Heat[], shown: number): string =>
    [title, ...heats.slice(0, shown).map(heat => lineOf(heat, busyMicros, count))].join('\n')
  return [
    `${count} ${what}s; JavaScript's thread was busy for ${(busyMicros / count).toFixed(2)} µs a ${what}.`,
    section(`Self time by function (share, µs a ${what})`, self, SELF_SHOWN),
    section('Self time by origin', origin, ORIGIN_SHOWN),
    section('Functions of src with all that they call', total, TOTAL_SHOWN),
  ].join('\n\n')
}

async function orderOf(profiled: Profiled, tollgate: Contender): Promise<(durationMs: number) => LoadOrder> {
  if (profiled.suite !== 'formats') return durationMs => ORDERS[profiled.suite](tollgate, durationMs)
  const { words } = STREAM_PLAN
  const lane = await openLane(tollgate, profiled.client, profiled.upstream, words)
  return durationMs => laneOrder(lane, { words, connections: STREAMS, durationMs })
}

function lineOf({ name, micros }: Heat, busyMicros: number, count: number): string {
  const share = `${((micros / busyMicros) * 100).toFixed(1)} %`.padStart(8)
  return `${share} ${(micros / count).toFixed(2).padStart(8)}  ${name}`
}

async function written(file: string): Promise<void> {
  const deadlineMs = performance.now() + WRITTEN_MS_MAX
  while (!existsSync(file)) {
    if (performance.now() > deadlineMs) throw new Error('the profile was not written')
    await sleep(50)
  }
}

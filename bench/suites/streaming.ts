import type { LoadOrder } from '../load/order.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { chatRequestBytes } from '../rig/request.ts'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { disturbanceRow, interleave, measure, type Section } from '../rig/section.ts'
import { bestOf, ratios } from '../rig/statistics.ts'
import type { UpstreamPlan } from '../upstream.ts'
import type { SuiteContext } from './suite.ts'

/** Words of one stream come 10 ms apart, as from a fast model, so that each reaches the proxy by itself. */
export const STREAM_PLAN: UpstreamPlan = { words: 198, intervalMs: 10 }
/** The role, the finish reason and `[DONE]`; usage, for which the client did not ask, must not be one. */
const EVENTS_BESIDE_WORDS = 3
export const STREAMS = 120
const CPU_RATIO_MAX = 1.3

/** Streams side by side at the upstream's pace: what a chunk costs, the request's own cost spread over its chunks. */
export async function streaming({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  await rig.planUpstream(STREAM_PLAN)
  const proxies = await startContenders(rig, ['bare', 'tollgate', 'portkey'])
  for (const proxy of proxies) await measure(rig, proxy, streamOrder(proxy, isQuick ? 500 : 3_000))
  const sections = await interleave(proxies, isQuick ? 2 : 7, async (proxy, round) => {
    const section = await measure(rig, proxy, streamOrder(proxy, isQuick ? 500 : 4_000))
    say(`round ${round + 1}, ${proxy.name}: ${cpuOf(section).toFixed(2)} µs CPU a chunk, ${section.events} chunks`)
    return section
  })
  return rowsOf(sections)
}

export function streamOrder(proxy: Contender, durationMs: number): LoadOrder {
  const request = chatRequestBytes(proxy, { isStream: true })
  const events = STREAM_PLAN.words + EVENTS_BESIDE_WORDS
  return { kind: 'closed', port: proxy.port, request, events, connections: STREAMS, durationMs }
}

function cpuOf({ cpuMicros, events }: Section): number {
  return cpuMicros / events
}

function rowsOf(sections: ReadonlyMap<Contender['name'], Section[]>): Row[] {
  const cpu = (name: Contender['name']) => (sections.get(name) ?? []).map(cpuOf)
  const ratio = { suite: 'streaming', name: 'CPU a chunk, Tollgate / bare', unit: '×' }
  return [
    { ...ratio, values: ratios(cpu('tollgate'), cpu('bare')), target: { atMost: CPU_RATIO_MAX } },
    { ...ratio, name: 'the same, the best round of each', values: [bestOf(cpu('tollgate')) / bestOf(cpu('bare'))] },
    ...[...sections.keys()].map(name => ({
      suite: 'streaming',
      name: `CPU a chunk, ${name}`,
      unit: 'µs',
      values: cpu(name),
    })),
    disturbanceRow('streaming', sections),
  ]
}

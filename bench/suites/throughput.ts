import type { LoadOrder } from '../load/order.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { chatRequestBytes } from '../rig/request.ts'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { disturbanceRow, interleave, measure, type Section } from '../rig/section.ts'
import { bestOf, ratios } from '../rig/statistics.ts'
import type { SuiteContext } from './suite.ts'

const CONNECTIONS = 64
const CPU_RATIO_MAX = 1.6
const PORTKEY_RATIO_MIN = 8

/** Answers in one piece, as many as a proxy can do with a core of its own. */
export async function throughput({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  const proxies = await startContenders(rig, ['bare', 'tollgate', 'portkey'])
  for (const proxy of proxies) await measure(rig, proxy, wholeOrder(proxy, isQuick ? 500 : 3_000))
  const sections = await interleave(proxies, isQuick ? 2 : 9, async (proxy, round) => {
    await measure(rig, proxy, wholeOrder(proxy, 300))
    const section = await measure(rig, proxy, wholeOrder(proxy, isQuick ? 1_000 : 3_000))
    const perSecond = perSecondOf(section).toFixed(0)
    say(`round ${round + 1}, ${proxy.name}: ${cpuOf(section).toFixed(1)} µs CPU a request, ${perSecond} requests/s`)
    return section
  })
  return rowsOf(sections)
}

export function wholeOrder(proxy: Contender, durationMs: number): LoadOrder {
  const request = chatRequestBytes(proxy, { isStream: false })
  return { kind: 'closed', port: proxy.port, request, events: 0, connections: CONNECTIONS, durationMs }
}

function cpuOf({ cpuMicros, requests }: Section): number {
  return cpuMicros / requests
}

export function perSecondOf({ requests, elapsedMs }: Section): number {
  return (requests / elapsedMs) * 1000
}

function rowsOf(sections: ReadonlyMap<Contender['name'], Section[]>): Row[] {
  const of = (name: Contender['name'], figure: (section: Section) => number) => (sections.get(name) ?? []).map(figure)
  const row = (name: string, unit: string, values: readonly number[], target?: Row['target']): Row => ({
    suite: 'throughput',
    name,
    unit,
    values,
    ...(target && { target }),
  })
  return [
    row('CPU a request, Tollgate / bare', '×', ratios(of('tollgate', cpuOf), of('bare', cpuOf)), {
      atMost: CPU_RATIO_MAX,
    }),
    row('the same, the best round of each', '×', [bestOf(of('tollgate', cpuOf)) / bestOf(of('bare', cpuOf))]),
    row('requests a second, Tollgate / Portkey', '×', ratios(of('tollgate', perSecondOf), of('portkey', perSecondOf)), {
      atLeast: PORTKEY_RATIO_MIN,
    }),
    ...[...sections.keys()].flatMap(name => [
      row(`CPU a request, ${name}`, 'µs', of(name, cpuOf)),
      row(`requests a second, ${name}`, '/s', of(name, perSecondOf)),
    ]),
    disturbanceRow('throughput', sections),
  ]
}

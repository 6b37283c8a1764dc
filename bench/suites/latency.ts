import type { LoadOrder, Percentiles } from '../load/order.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { chatRequestBytes } from '../rig/request.ts'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { disturbanceRow, interleave, measure, type Section } from '../rig/section.ts'
import { differences, spreadOf } from '../rig/statistics.ts'
import type { SuiteContext } from './suite.ts'
import { perSecondOf, wholeOrder } from './throughput.ts'

const ADDED_P50_MS_MAX = 0.5
const ADDED_P99_MS_MAX = 3

/** What Tollgate adds to a request's time at half of the load that it can bear. */
export async function latency({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  const proxies = await startContenders(rig, ['bare', 'tollgate'])
  const rate = await halfOfMost(rig, proxies, isQuick)
  say(`half of Tollgate's most is ${rate} requests/s`)
  const sections = await interleave(proxies, isQuick ? 2 : 7, async (proxy, round) => {
    await measure(rig, proxy, openOrder(proxy, rate, 500))
    const section = await measure(rig, proxy, openOrder(proxy, rate, isQuick ? 1_000 : 5_000))
    const { p50, p90, p99 } = section.latencyMs
    const late = section.latenessMs.p99.toFixed(2)
    say(
      `round ${round + 1}, ${proxy.name}: p50 ${p50.toFixed(2)}, p90 ${p90.toFixed(2)}, p99 ${p99.toFixed(2)} ms; ` +
        `the generator was late by ${late} ms at p99`,
    )
    return section
  })
  return rowsOf(sections, rate)
}

async function halfOfMost(rig: Rig, proxies: readonly Contender[], isQuick: boolean): Promise<number> {
  const speeds: number[] = []
  for (const proxy of proxies) {
    await measure(rig, proxy, wholeOrder(proxy, isQuick ? 500 : 3_000))
    for (let i = 0; i < 3 && proxy.name === 'tollgate'; i++) {
      speeds.push(perSecondOf(await measure(rig, proxy, wholeOrder(proxy, isQuick ? 500 : 2_000))))
    }
  }
  return Math.round(spreadOf(speeds).median / 2)
}

function openOrder(proxy: Contender, rate: number, durationMs: number): LoadOrder {
  return {
    kind: 'open',
    port: proxy.port,
    request: chatRequestBytes(proxy, { isStream: false }),
    events: 0,
    rate,
    durationMs,
  }
}

function rowsOf(sections: ReadonlyMap<Contender['name'], Section[]>, rate: number): Row[] {
  const of = (name: Contender['name'], which: keyof Percentiles) =>
    (sections.get(name) ?? []).map(({ latencyMs }) => latencyMs[which])
  const row = (name: string, values: readonly number[], target?: Row['target']): Row => ({
    suite: 'latency',
    name,
    unit: 'ms',
    values,
    ...(target && { target }),
  })
  const added = (which: keyof Percentiles) => differences(of('tollgate', which), of('bare', which))
  return [
    row('added beyond bare, p50', added('p50'), { atMost: ADDED_P50_MS_MAX }),
    row('added beyond bare, p90', added('p90')),
    row('added beyond bare, p99', added('p99'), { atMost: ADDED_P99_MS_MAX }),
    ...(['bare', 'tollgate'] as const).flatMap(name => [
      row(`p50, ${name}`, of(name, 'p50')),
      row(`p99, ${name}`, of(name, 'p99')),
    ]),
    { suite: 'latency', name: "rate: half of Tollgate's most", unit: '/s', values: [rate] },
    disturbanceRow('latency', sections),
  ]
}

import { FORMATS, type Format } from '../canned/formats.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { type Lane, laneName, laneOrder, openLane } from '../rig/lane.ts'
import { highestResident } from '../rig/resident.ts'
import type { Finding, Matrix, Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { disturbanceRow, interleave, measure, type Section } from '../rig/section.ts'
import { ratios, spreadOf } from '../rig/statistics.ts'
import { STREAM_PLAN, STREAMS } from './streaming.ts'
import type { SuiteContext } from './suite.ts'

/** Long enough for every connection to ask once, and too short to ask twice. */
const ASKING_MS = 700
const CPU_RATIO_MAX = 2.5
/** As fast as they go, about 50 MB of chat completions. */
const LONG_PLAN = { words: 180_000, intervalMs: 0 }
const SHORT_PLAN = { words: LONG_PLAN.words / 10, intervalMs: 0 }

/** Every client format against every upstream format: what a chunk costs, and that memory does not grow. */
export async function formats({ session, isQuick, say }: SuiteContext): Promise<Finding[]> {
  await using rig = await Rig.create(session)
  await rig.planUpstream(STREAM_PLAN)
  const [bare, tollgate] = (await startContenders(rig, ['bare', 'tollgate'])) as [Contender, Contender]
  const { words } = STREAM_PLAN
  const lanes = await Promise.all([
    ...FORMATS.flatMap(client => FORMATS.map(upstream => openLane(tollgate, client, upstream, words))),
    ...FORMATS.map(format => openLane(bare, format, format, words)),
  ])
  const order = { words, connections: STREAMS, durationMs: ASKING_MS }
  for (const lane of lanes) await measure(rig, lane.proxy, laneOrder(lane, order))
  const sections = await interleave(lanes, isQuick ? 1 : 5, async (lane, round) => {
    const section = await measure(rig, lane.proxy, laneOrder(lane, order))
    say(`round ${round + 1}, ${lane.name}: ${cpuOf(section).toFixed(2)} µs CPU a chunk`)
    return section
  })
  return [...findingsOf(sections), ...(await longStreams(rig, lanes))]
}

/** Words are the same in all formats, events around them are not. */
function cpuOf({ cpuMicros, requests }: Section): number {
  return cpuMicros / (requests * STREAM_PLAN.words)
}

/** Each format once as the client's and once as the upstream's. */
async function longStreams(rig: Rig, lanes: readonly Lane[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const [index, client] of FORMATS.entries()) {
    const upstream = FORMATS[(index + 1) % FORMATS.length]
    const lane = lanes.find(each => each.client === client && each.upstream === upstream)
    if (lane) rows.push(...(await longStream(rig, lane)))
  }
  return rows
}

/** One stream as fast as it goes: what memory it takes beyond a stream of a tenth of its length. */
async function longStream(rig: Rig, lane: Lane): Promise<Row[]> {
  const highest: number[] = []
  for (const plan of [SHORT_PLAN, LONG_PLAN]) {
    await rig.planUpstream(plan)
    const order = laneOrder(lane, { words: plan.words, connections: 1, durationMs: 1 })
    highest.push(await highestResident(lane.proxy.process, measure(rig, lane.proxy, order)))
  }
  const [short = Number.NaN, long = Number.NaN] = highest
  const name = `memory, ${lane.client} from ${lane.upstream}, a stream of ${LONG_PLAN.words} words`
  return [
    { suite: 'formats', name, unit: 'MiB', values: [long] },
    { suite: 'formats', name: 'more than a stream of a tenth of the words', unit: 'MiB', values: [long - short] },
  ]
}

function findingsOf(sections: ReadonlyMap<Lane['name'], Section[]>): Finding[] {
  const cpu = (proxy: Contender['name'], client: Format, upstream: Format) =>
    (sections.get(laneName(proxy, client, upstream)) ?? []).map(cpuOf)
  const ratio = (client: Format, upstream: Format) =>
    ratios(cpu('tollgate', client, upstream), cpu('tollgate', client, client))
  const foreign = FORMATS.flatMap(client =>
    FORMATS.filter(upstream => upstream !== client).map(upstream => ({
      client,
      upstream,
      values: ratio(client, upstream),
    })),
  )
  const worst = foreign.toSorted((a, b) => spreadOf(b.values).median - spreadOf(a.values).median)[0]
  const lineOf = (client: Format, figure: (client: Format, upstream: Format) => readonly number[]) =>
    Object.fromEntries(FORMATS.map(upstream => [upstream, spreadOf(figure(client, upstream)).median]))
  const matrix = (title: string, figure: (client: Format, upstream: Format) => readonly number[]): Matrix => ({
    title,
    corner: 'client ↓ upstream →',
    lines: Object.fromEntries(FORMATS.map(client => [client, lineOf(client, figure)])),
  })
  const micros = matrix('CPU a chunk, µs', (client, upstream) => cpu('tollgate', client, upstream))
  const floor = lineOf(FORMATS[0], (_, upstream) => cpu('bare', upstream, upstream))
  return [
    {
      suite: 'formats',
      name: `CPU a chunk, translated / same format, worst: ${worst?.client} from ${worst?.upstream}`,
      unit: '×',
      values: worst?.values ?? [],
      target: { atMost: CPU_RATIO_MAX },
    },
    disturbanceRow('formats', sections),
    matrix('CPU a chunk against that of the same format on both sides, median', ratio),
    { ...micros, lines: { ...micros.lines, 'bare proxy': floor } },
  ]
}

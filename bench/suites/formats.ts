import { FORMATS, type Format } from '../canned/formats.ts'
import { type Contender, startContenders } from '../rig/contenders.ts'
import { type Lane, laneName, laneOrder, openLane } from '../rig/lane.ts'
import { residentWhile } from '../rig/resident.ts'
import type { Finding, Matrix, Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { disturbanceRow, interleave, measure, type Section } from '../rig/section.ts'
import { ratios, spreadOf } from '../rig/statistics.ts'
import { startTollgate } from '../rig/tollgate.ts'
import { STREAM_PLAN, STREAMS } from './streaming.ts'
import type { SuiteContext } from './suite.ts'

/** Long enough for every connection to ask once, and too short to ask twice. */
const ASKING_MS = 700
const CPU_RATIO_MAX = 2.5
/** As fast as they go, about 50 MB of chat completions. */
const LONG_PLAN = { words: 180_000, intervalMs: 0 }

/** Every client format against every upstream format: what a chunk costs, and that memory does not grow. */
export async function formats(context: SuiteContext): Promise<Finding[]> {
  await using rig = await Rig.create(context.session)
  return [...(await longStreams(rig)), ...(await allPairs(rig, context))]
}

/** Each format once as the client's and once as the upstream's, before any load has made the process large. */
async function longStreams(rig: Rig): Promise<Row[]> {
  const tollgate = await startTollgate(rig)
  const rows: Row[] = []
  for (const [index, client] of FORMATS.entries()) {
    const upstream = FORMATS[(index + 1) % FORMATS.length] ?? client
    await rig.planUpstream(STREAM_PLAN)
    const lane = await openLane(tollgate, client, upstream, STREAM_PLAN.words)
    await rig.planUpstream(LONG_PLAN)
    rows.push(...(await longStream(rig, lane)))
  }
  return rows
}

/** One stream as fast as it goes. What is kept of each word would make its second half larger than its first. */
async function longStream(rig: Rig, lane: Lane): Promise<Row[]> {
  const { words } = LONG_PLAN
  // Long enough that it surely begins, and over long before its end: so there is one.
  const order = laneOrder(lane, { words, connections: 1, durationMs: 100 })
  const samples = await residentWhile(lane.proxy.process, measure(rig, lane.proxy, order))
  const middle = Math.ceil(samples.length / 2)
  const [first, second] = [samples.slice(0, middle), samples.slice(middle)].map(half => Math.max(...half))
  const name = `memory, ${lane.client} from ${lane.upstream}, a stream of ${words} words`
  const growth = (second ?? Number.NaN) - (first ?? Number.NaN)
  return [
    { suite: 'formats', name, unit: 'MiB', values: [Math.max(...samples)] },
    { suite: 'formats', name: 'its second half beyond its first', unit: 'MiB', values: [growth] },
  ]
}

async function allPairs(rig: Rig, { isQuick, say }: SuiteContext): Promise<Finding[]> {
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
  return findingsOf(sections)
}

/** Words are the same in all formats, events around them are not. */
function cpuOf({ cpuMicros, requests }: Section): number {
  return cpuMicros / (requests * STREAM_PLAN.words)
}

type Figure = (client: Format, upstream: Format) => readonly number[]

function findingsOf(sections: ReadonlyMap<Lane['name'], Section[]>): Finding[] {
  const cpu = (proxy: Contender['name'], client: Format, upstream: Format) =>
    (sections.get(laneName(proxy, client, upstream)) ?? []).map(cpuOf)
  const translated: Figure = (client, upstream) => cpu('tollgate', client, upstream)
  const ratio: Figure = (client, upstream) => ratios(translated(client, upstream), translated(client, client))
  return [
    worstRow(ratio),
    disturbanceRow('formats', sections),
    {
      title: 'CPU a chunk against that of the same format on both sides, median',
      corner: CORNER,
      lines: linesOf(ratio),
    },
    {
      title: 'CPU a chunk, µs, median; the bare proxy passes on what the upstream sends',
      corner: CORNER,
      lines: { ...linesOf(translated), 'bare proxy': lineOf(upstream => cpu('bare', upstream, upstream)) },
    },
  ]
}

function worstRow(ratio: Figure): Row {
  const foreign = FORMATS.flatMap(client =>
    FORMATS.filter(upstream => upstream !== client).map(upstream => ({
      pair: `${client} from ${upstream}`,
      values: ratio(client, upstream),
    })),
  )
  const { pair, values } = foreign.reduce((a, b) => (spreadOf(b.values).median > spreadOf(a.values).median ? b : a))
  const name = `CPU a chunk, translated / same format, worst: ${pair}`
  return { suite: 'formats', name, unit: '×', values, target: { atMost: CPU_RATIO_MAX } }
}

const CORNER = 'client ↓ upstream →'

function linesOf(figure: Figure): Matrix['lines'] {
  return Object.fromEntries(FORMATS.map(client => [client, lineOf(upstream => figure(client, upstream))]))
}

function lineOf(figure: (upstream: Format) => readonly number[]): Record<string, number> {
  return Object.fromEntries(FORMATS.map(upstream => [upstream, spreadOf(figure(upstream)).median]))
}

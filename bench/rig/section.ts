import type { LoadOrder, LoadResult } from '../load/order.ts'
import type { Contender } from './contenders.ts'
import { isPinned, MEASURED_CORE } from './pinning.ts'
import { coreBusyMs, cpuMicros } from './process-stats.ts'
import type { Row } from './results.ts'
import type { Rig } from './rig.ts'

/** What one proxy did in one stretch of load. */
export interface Section extends LoadResult {
  /** CPU that the proxy spent, work after the answers included. */
  readonly cpuMicros: number
  /** How much of the proxy's core others took meanwhile, from 0 to 1: what makes a round worth less. */
  readonly disturbance: number
}

/** @throws when an answer was not what was ordered: a benchmark of wrong answers measures nothing */
export async function measure(rig: Rig, proxy: Contender, order: LoadOrder): Promise<Section> {
  const before = snapshot(proxy)
  const result = await rig.load(order)
  const wrong = Object.entries(result.errors).map(([what, count]) => `${count} × ${what}`)
  if (wrong.length > 0) throw new Error(`${proxy.name}: of ${result.requests} answers, ${wrong.join(', ')}`)
  await proxy.settled(result.requests)
  const after = snapshot(proxy)
  const cpu = after.cpu - before.cpu
  const elapsedMs = after.atMs - before.atMs
  const disturbance = isPinned ? Math.max(0, after.coreMs - before.coreMs - cpu / 1000) / elapsedMs : Number.NaN
  return { ...result, cpuMicros: cpu, disturbance }
}

function snapshot({ process }: Contender): { cpu: number; coreMs: number; atMs: number } {
  return { cpu: cpuMicros(process.pid), coreMs: coreBusyMs(MEASURED_CORE), atMs: performance.now() }
}

/** Share of the proxies' core that went to others, for the table: a high one says to run again. */
export function disturbanceRow(suite: string, sections: ReadonlyMap<string, Section[]>): Row {
  const values = [...sections.values()].flat().map(({ disturbance }) => disturbance * 100)
  return { suite, name: 'core of the proxies taken by others', unit: '%', values }
}

/** Has each of `subjects` measured in every round, each round beginning with another one. */
export async function interleave<S extends { readonly name: string }, T>(
  subjects: readonly S[],
  rounds: number,
  measureOne: (subject: S, round: number) => Promise<T>,
): Promise<Map<S['name'], T[]>> {
  const results = new Map<S['name'], T[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const turn = round % subjects.length
    for (const subject of [...subjects.slice(turn), ...subjects.slice(0, turn)]) {
      results.get(subject.name)?.push(await measureOne(subject, round))
    }
  }
  return results
}

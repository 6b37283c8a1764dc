import path from 'node:path'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { readyUrl, TOLLGATE_MAIN } from '../rig/tollgate.ts'
import type { SuiteContext } from './suite.ts'

const FIRST_MS_MAX = 6_000
const SECOND_MS_MAX = 3_000

/**
 * From the command to the first `200` of `/readyz`, as on a new machine: no configuration, so with the embedded
 * Postgres, which the first start creates, and the sandbox.
 */
export async function start({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  const first: number[] = []
  const second: number[] = []
  for (let i = 0; i < (isQuick ? 1 : 5); i++) {
    const folder = await rig.createFolder('fresh')
    first.push(await startOnce(rig, folder))
    second.push(await startOnce(rig, folder))
    say(`ready after ${first.at(-1)?.toFixed(0)} ms, the second time after ${second.at(-1)?.toFixed(0)} ms`)
  }
  return [
    { suite: 'start', name: 'first start to ready', unit: 'ms', values: first, target: { atMost: FIRST_MS_MAX } },
    { suite: 'start', name: 'second start to ready', unit: 'ms', values: second, target: { atMost: SECOND_MS_MAX } },
  ]
}

async function startOnce(rig: Rig, folder: string): Promise<number> {
  const logFile = path.join(folder, `log-${performance.now()}`)
  await using process = await rig.start({
    name: 'Tollgate',
    script: TOLLGATE_MAIN,
    args: ['start'],
    place: 'anywhere',
    environment: { PORT: '0', TOLLGATE_DATA: folder },
    cwd: folder,
    logFile,
  })
  const url = await process.until(() => readyUrl(logFile), logFile)
  const { status } = await fetch(`${url}/readyz`)
  const readyMs = performance.now() - process.startedAtMs
  if (status !== 200) throw new Error(`/readyz answered ${status}`)
  return readyMs
}

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { FORMATS } from './canned/formats.ts'
import { isPinned, pinSelf } from './rig/pinning.ts'
import { type Finding, record, tables } from './rig/results.ts'
import { formats } from './suites/formats.ts'
import { latency } from './suites/latency.ts'
import { memory } from './suites/memory.ts'
import { type Profiled, profile } from './suites/profile.ts'
import { report } from './suites/report.ts'
import { start } from './suites/start.ts'
import { streaming } from './suites/streaming.ts'
import type { Suite, SuiteContext } from './suites/suite.ts'
import { throughput } from './suites/throughput.ts'

const USAGE = `npm run bench -- [suite…] [--quick]
npm run bench -- profile <throughput | streaming | formats <client's> <upstream's>>

Suites (all but the last two unless named):
  throughput   answers in one piece: CPU a request and requests a second, against a bare proxy and Portkey
  streaming    CPU a chunk, against both
  latency      what Tollgate adds at half of the load that it can bear, beyond the bare proxy
  memory       resident memory with 2,000 open streams
  start        from the command to ready, the first time and the second
  formats      CPU a chunk and memory of streams, for every pair of client's and upstream's format
  report       pages of the usage report of a key with 10 million requests (takes minutes to prepare)

profile shows where Tollgate's time goes under the load of a suite.

  --quick      a short run for trying out; nothing is recorded
  --help       this text

Results are printed and added to bench/results.md; bench/README.md says what they mean.
`

const SUITES: Readonly<Record<string, Suite>> = { throughput, streaming, latency, memory, start, formats, report }
/** Run only when named. */
const LONG_SUITES: readonly string[] = ['formats', 'report']
const DEFAULT_SUITES = Object.keys(SUITES).filter(name => !LONG_SUITES.includes(name))
const INTERRUPTED_MS_MAX = 30_000
const INTERRUPTED_CODE = 130

async function main(session: AsyncDisposableStack): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [first, ...rest] = positionals
  const isProfile = first === 'profile'
  const profiled = isProfile ? profiledOf(rest) : undefined
  const names = positionals.length === 0 ? DEFAULT_SUITES : positionals
  if (values.help) return print(USAGE)
  if (isProfile ? !profiled : names.some(name => !SUITES[name])) {
    process.exitCode = 2
    return say(USAGE)
  }
  provideComparisons()
  pinSelf('rest')
  if (!isPinned) say('Processes cannot be pinned here (no taskset, or one core): ratios will be rougher.')
  const context: SuiteContext = { session, isQuick: values.quick, say }
  if (profiled) return print(await profile(profiled, context))
  const findings: Finding[] = []
  for (const name of names) {
    say(`\n${name}`)
    findings.push(...(await (SUITES[name] as Suite)(context)))
  }
  print(`\n${tables(findings)}`)
  if (!values.quick) await record(findings, names)
}

function profiledOf([suite, ...formats]: readonly string[]): Profiled | undefined {
  if (suite === 'throughput' || suite === 'streaming') return { suite }
  const [client, upstream] = formats.map(name => FORMATS.find(format => format === name))
  return suite === 'formats' && client && upstream ? { suite, client, upstream } : undefined
}

/** Portkey is a dependency of the bench alone and is fetched when the bench is first run. */
function provideComparisons(): void {
  if (existsSync(path.join(import.meta.dirname, 'node_modules'))) return
  say('installing what Tollgate is compared with')
  const args = ['ci', '--prefix', import.meta.dirname, '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('npm could not install bench/package-lock.json')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Progress goes to standard error, so that results can be redirected. */
function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

const session = new AsyncDisposableStack()
let isInterrupted = false
const running = main(session).catch(error => {
  // What is ended from under the suites makes them fail; that is no news.
  if (isInterrupted) return
  process.exitCode = 1
  say((error as Error).stack ?? String(error))
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, async () => {
    if (isInterrupted) return
    isInterrupted = true
    say('ending what was started')
    await session.disposeAsync()
    await Promise.race([running, sleep(INTERRUPTED_MS_MAX)])
    process.exit(INTERRUPTED_CODE)
  })
}

await running
await session.disposeAsync()

import { rename, writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'

/**
 * Preloaded into the process to be profiled. `--cpu-prof` would take in the start and the warm-up; here one SIGUSR2
 * begins the profile and the next one ends it and writes it to `BENCH_PROFILE`.
 */
const SAMPLING_MICROS = 200

let session: Session | undefined

async function toggle(): Promise<void> {
  if (!session) {
    session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS })
    await session.post('Profiler.start')
    return
  }
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  session = undefined
  const file = process.env.BENCH_PROFILE ?? 'bench.cpuprofile'
  await writeFile(`${file}.new`, JSON.stringify(profile))
  await rename(`${file}.new`, file)
}

process.on('SIGUSR2', () => void toggle())

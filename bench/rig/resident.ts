import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchProcess } from './process.ts'
import { residentMebibytes } from './process-stats.ts'

const SAMPLE_MS = 100

/** What memory a process had while `work` was under way, in mebibytes, a sample every tenth of a second. */
export async function residentWhile({ pid }: BenchProcess, work: Promise<unknown>): Promise<number[]> {
  const over = work.then(
    () => true,
    () => true,
  )
  const samples = [residentMebibytes(pid)]
  while (!(await Promise.race([over, sleep(SAMPLE_MS, false)]))) samples.push(residentMebibytes(pid))
  // A work that failed has been measured in vain.
  await work
  return samples
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchProcess } from './process.ts'
import { residentMebibytes } from './process-stats.ts'

const SAMPLE_MS = 100

/** The most memory that a process had while `work` was under way, in mebibytes. */
export async function highestResident({ pid }: BenchProcess, work: Promise<unknown>): Promise<number> {
  const over = work.then(
    () => true,
    () => true,
  )
  let highest = residentMebibytes(pid)
  while (!(await Promise.race([over, sleep(SAMPLE_MS, false)]))) {
    highest = Math.max(highest, residentMebibytes(pid))
  }
  return highest
}

import { readdirSync, readFileSync } from 'node:fs'

const NANOSECONDS_PER_TICK = 10_000_000
const UTIME_FIELD = 11

/**
 * CPU time of a process in microseconds: user and system, all threads, garbage collection and disk threads included.
 * The scheduler's own count is exact; `/proc/<pid>/stat` has the same sum in steps of 10 ms and serves where the
 * kernel does not tell the former.
 */
export function cpuMicros(pid: number): number {
  const nanoseconds = sumOfThreads(pid) ?? ticksOf(pid) * NANOSECONDS_PER_TICK
  return nanoseconds / 1000
}

function sumOfThreads(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.reduce((sum, id) => sum + Number(read(`/proc/${pid}/task/${id}/schedstat`).split(' ', 1)[0]), 0)
  } catch {
    return undefined
  }
}

function ticksOf(pid: number): number {
  // The second field is the command in parentheses and may contain anything.
  const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return Number(fields[UTIME_FIELD]) + Number(fields[UTIME_FIELD + 1])
}

/** Resident memory in mebibytes. */
export function residentMebibytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024
}

/** Time that a core has been busy since the machine started, in milliseconds; waiting for disks is not being busy. */
export function coreBusyMs(core: number): number {
  const line = new RegExp(`^cpu${core} (.+)$`, 'm').exec(read('/proc/stat'))?.[1] ?? ''
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line.split(' ').map(Number)
  return ((user + nice + system + irq + softIrq + steal) * NANOSECONDS_PER_TICK) / 1e6
}

function read(file: string): string {
  return readFileSync(file, 'utf8')
}

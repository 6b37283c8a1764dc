import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Where a process runs: the one that is measured has a core to itself, so that it is what limits the throughput. */
export type Place = 'measured' | 'rest' | 'anywhere'

const cores = availableParallelism()
export const MEASURED_CORE = 0

const CORES: Readonly<Record<Place, string>> = {
  measured: String(MEASURED_CORE),
  rest: `1-${cores - 1}`,
  anywhere: `0-${cores - 1}`,
}

export const isPinned = cores >= 2 && spawnSync('taskset', ['--version']).status === 0

/** The command that runs `file` in its place; the same command where processes cannot be pinned. */
export function pinned(place: Place, file: string, args: readonly string[]): [string, string[]] {
  if (!isPinned) return [file, [...args]]
  return ['taskset', ['-c', CORES[place], file, ...args]]
}

/** Moves this process, and with it whatever it starts from now on. */
export function pinSelf(place: Place): void {
  if (isPinned) execFileSync('taskset', ['-a', '-c', '-p', CORES[place], String(process.pid)], { stdio: 'ignore' })
}

import { execFileSync } from 'node:child_process'
import { readFile, readlink, realpath, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 20
/** A fast shutdown waits for a checkpoint; one that takes longer is asked less kindly. */
const PATIENCE_MS = 15_000

/**
 * Cleans up after a Tollgate that was killed: a server still running on `cluster` is stopped, and a pid file left
 * behind is removed, even when its number belongs to some other process by now. The caller holds the data folder's
 * lock, so no living Tollgate uses the server.
 *
 * @returns whether a server had to be stopped
 */
export async function clearOrphan(cluster: string): Promise<boolean> {
  const pidFile = path.join(cluster, 'postmaster.pid')
  const text = await readFile(pidFile, 'utf8').catch(() => undefined)
  if (text === undefined) return false
  const pid = Number.parseInt(text, 10)
  const isOurs = pid > 0 && (await runsIn(pid, cluster))
  if (isOurs) await stop(pid)
  await rm(pidFile, { force: true })
  return isOurs
}

/** A postmaster's working directory is its cluster. */
async function runsIn(pid: number, cluster: string): Promise<boolean> {
  const home = await realpath(cluster)
  if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === home
  try {
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).includes(cluster)
  } catch {
    return false
  }
}

async function stop(pid: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    kill(pid, signal)
    const deadlineMs = performance.now() + PATIENCE_MS
    while (performance.now() < deadlineMs) {
      if (!kill(pid, 0)) return
      await sleep(POLL_MS)
    }
  }
  throw new Error(`A Postgres server left over from an earlier start (process ${pid}) cannot be stopped.`)
}

/** @returns whether the process exists */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Done, Ready } from './child.ts'
import { type Place, pinned } from './pinning.ts'

const READY_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const POLL_MS = 10

export interface ProcessOptions {
  /** For error messages. */
  readonly name: string
  readonly script: string
  readonly args?: readonly string[]
  readonly nodeArgs?: readonly string[]
  readonly place: Place
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Where standard output goes; standard error follows it. */
  readonly logFile?: string
}

/** A Node process that the bench has started, and ends. */
export class BenchProcess implements AsyncDisposable {
  readonly #name: string
  readonly #child: ChildProcess
  /** When it was started, by `performance.now()`. */
  readonly startedAtMs: number

  private constructor(name: string, child: ChildProcess, startedAtMs: number) {
    this.#name = name
    this.#child = child
    this.startedAtMs = startedAtMs
  }

  /** @param hasLine whether orders are sent to it (see `child.ts`) */
  static async start(options: ProcessOptions, { hasLine }: { hasLine: boolean }): Promise<BenchProcess> {
    const { name, script, args = [], nodeArgs = [], place, environment = {}, cwd, logFile } = options
    const [file, allArgs] = pinned(place, process.execPath, [...nodeArgs, script, ...args])
    const log = logFile === undefined ? undefined : openSync(logFile, 'a')
    const output = log ?? 'ignore'
    const stdio: StdioOptions = ['ignore', output, log ?? 'inherit', ...(hasLine ? ['ipc' as const] : [])]
    const startedAtMs = performance.now()
    const { PATH = '', HOME = '' } = process.env
    // A group of its own: Ctrl-C reaches the bench alone, which then ends what it started in good order.
    const child = spawn(file, allArgs, {
      stdio,
      detached: true,
      env: { PATH, HOME, ...environment },
      ...(cwd !== undefined && { cwd }),
    })
    if (log !== undefined) closeSync(log)
    await once(child, 'spawn')
    return new BenchProcess(name, child, startedAtMs)
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** The port that a process on the line says it serves. */
  async ready(): Promise<number> {
    const { port } = await this.#hear<Ready>(READY_MS_MAX)
    return port
  }

  /** Waits until `probe` gives something. @throws with the log's end when the process ends first */
  async until<T>(probe: () => Promise<T | undefined>, logFile: string): Promise<T> {
    while (performance.now() - this.startedAtMs < READY_MS_MAX && this.#isAlive) {
      const found = await probe()
      if (found !== undefined) return found
      await sleep(POLL_MS)
    }
    const log = await readFile(logFile, 'utf8').catch(() => '')
    throw new Error(`${this.#name} did not become ready:\n${log.slice(-2000)}`)
  }

  /** Has an order carried out and gives its result. */
  async order<R>(order: object, withinMs: number): Promise<R> {
    this.#child.send(order)
    const { result } = await this.#hear<Done<R>>(withinMs)
    return result
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Asks it to end, and waits; after a while it is made to. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isAlive) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS_MAX)
    await exited
    clearTimeout(timer)
  }

  get #isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async #hear<M>(withinMs: number): Promise<M> {
    const over = new AbortController()
    const { signal } = over
    try {
      return await Promise.race([
        once(this.#child, 'message', { signal }).then(([message]) => message as M),
        once(this.#child, 'exit', { signal }).then(([code, by]) => {
          throw new Error(`${this.#name} ended unexpectedly (${by ?? `code ${code}`})`)
        }),
        sleep(withinMs, undefined, { signal }).then(() => {
          throw new Error(`${this.#name} said nothing for ${withinMs} ms`)
        }),
      ])
    } finally {
      over.abort()
    }
  }
}

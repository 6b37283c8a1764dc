import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { LoadOrder, LoadResult } from '../load/order.ts'
import type { UpstreamPlan } from '../upstream.ts'
import { PostgresServer } from './postgres.ts'
import { BenchProcess, type ProcessOptions } from './process.ts'

const BENCH_FOLDER = path.resolve(import.meta.dirname, '..')
/** What a load may take beyond its own duration: streams under way are let end. */
const LOAD_GRACE_MS = 60_000
const ORDER_MS_MAX = 5_000

/** What a suite stands on: a temporary folder, the upstream, the load generator and Postgres. Ends what it started. */
export class Rig implements AsyncDisposable {
  readonly folder: string
  readonly #stack = new AsyncDisposableStack()
  #upstream: { process: BenchProcess; port: number } | undefined
  #load: BenchProcess | undefined
  #postgres: PostgresServer | undefined
  #folders = 0
  #ending: Promise<void> | undefined

  private constructor(folder: string) {
    this.folder = folder
    this.#stack.defer(() => rm(folder, { recursive: true, force: true }))
  }

  /** @param session ends the rig if nobody else has, when the bench is interrupted */
  static async create(session: AsyncDisposableStack): Promise<Rig> {
    return session.use(new Rig(await mkdtemp(path.join(tmpdir(), 'tollgate-bench-'))))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#stack.disposeAsync()
    await this.#ending
  }

  /** Starts a process that ends with the rig. */
  async start(options: ProcessOptions, line: { hasLine: boolean } = { hasLine: false }): Promise<BenchProcess> {
    const process = await BenchProcess.start(options, line)
    if (!this.#ending) return this.#stack.use(process)
    await process[Symbol.asyncDispose]()
    throw new Error('the bench was interrupted')
  }

  async createFolder(name: string): Promise<string> {
    this.#folders += 1
    const folder = path.join(this.folder, `${name}-${this.#folders}`)
    await mkdir(folder)
    return folder
  }

  /** Where the upstream answers, started when first asked for. */
  async upstreamUrl(): Promise<string> {
    const { port } = await this.#startUpstream()
    return `http://127.0.0.1:${port}`
  }

  async planUpstream(plan: UpstreamPlan): Promise<void> {
    const { process } = await this.#startUpstream()
    await process.order(plan, ORDER_MS_MAX)
  }

  async load(order: LoadOrder): Promise<LoadResult> {
    if (!this.#load) {
      const script = path.join(BENCH_FOLDER, 'load.ts')
      this.#load = await this.start({ name: 'load generator', script, place: 'rest' }, { hasLine: true })
      await this.#load.ready()
    }
    return this.#load.order(order, order.durationMs + LOAD_GRACE_MS)
  }

  async postgres(): Promise<PostgresServer> {
    this.#postgres ??= await PostgresServer.start(await this.createFolder('postgres'), this.#stack)
    return this.#postgres
  }

  async #startUpstream(): Promise<{ process: BenchProcess; port: number }> {
    if (!this.#upstream) {
      const script = path.join(BENCH_FOLDER, 'upstream.ts')
      const process = await this.start({ name: 'upstream', script, place: 'rest' }, { hasLine: true })
      this.#upstream = { process, port: await process.ready() }
    }
    return this.#upstream
  }
}

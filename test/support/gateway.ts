import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { createTestDatabase, type TestDatabase } from './database.ts'

const MAIN = path.resolve(import.meta.dirname, '../../src/main.ts')

export interface GatewayOptions {
  /** Configuration file's text; none: the sandbox serves. */
  readonly config?: string
  readonly environment?: Record<string, string>
  /** `embedded`: the gateway's own server; otherwise a database of the run's server. */
  readonly database?: 'embedded' | TestDatabase
  /** Keeps to a data folder that another gateway has used. */
  readonly dataFolder?: string
  /** A program to run Node under, e.g. `['strace', …]`. */
  readonly wrapper?: readonly string[]
}

export type LogLine = Record<string, unknown> & { msg?: string }

/** A gateway in a process of its own. */
export class Gateway {
  readonly baseUrl: string
  readonly apiKey: string
  readonly apiKeyId: string
  readonly managementToken: string
  readonly dataFolder: string
  readonly log: LogLine[]
  readonly process: ChildProcess
  readonly database: TestDatabase | undefined
  readonly #owned: { folder: boolean; database: boolean }

  private constructor(
    child: ChildProcess,
    log: LogLine[],
    baseUrl: string,
    credentials: Record<string, string>,
    place: { dataFolder: string; database: TestDatabase | undefined; owned: { folder: boolean; database: boolean } },
  ) {
    this.process = child
    this.log = log
    this.baseUrl = baseUrl
    this.apiKey = credentials.api_key ?? ''
    this.apiKeyId = credentials.api_key_id ?? ''
    this.managementToken = credentials.management_token ?? ''
    this.dataFolder = place.dataFolder
    this.database = place.database
    this.#owned = place.owned
  }

  /** Starts a gateway on a free port and waits until it is ready. @throws with its output when it ends instead */
  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const owned = { folder: options.dataFolder === undefined, database: options.database === undefined }
    const dataFolder = options.dataFolder ?? (await mkdtemp(path.join(tmpdir(), 'tollgate-gw-')))
    const database = options.database === 'embedded' ? undefined : (options.database ?? (await createTestDatabase()))
    const { child, output, log } = await launch(options, dataFolder, database)
    const baseUrl = await new Promise<string>((resolve, reject) => {
      output.on('line', line => {
        const ready = log.at(-1)
        if (line.startsWith('{') && ready?.msg === 'tollgate.ready') resolve(String(ready.url))
      })
      child.once('exit', code =>
        reject(new Error(`the gateway ended with code ${code}\n${log.map(line => JSON.stringify(line)).join('\n')}`)),
      )
    })
    const credentials = JSON.parse(await readFile(path.join(dataFolder, 'credentials.json'), 'utf8').catch(() => '{}'))
    return new Gateway(child, log, baseUrl, credentials, { dataFolder, database, owned })
  }

  /** Runs `tollgate start` that is expected to fail. */
  static async startFailing(options: GatewayOptions): Promise<{ code: number | null; errors: string }> {
    const dataFolder = options.dataFolder ?? (await mkdtemp(path.join(tmpdir(), 'tollgate-gw-')))
    const { child, output, errors, log } = await launch(
      options,
      dataFolder,
      options.database === 'embedded' ? undefined : options.database,
    )
    // One that starts would be waited for without end.
    output.on('line', () => {
      if (log.at(-1)?.msg !== 'tollgate.ready') return
      errors.push('it has started')
      child.kill()
    })
    const [code] = (await once(child, 'close')) as [number | null]
    if (options.dataFolder === undefined) await rm(dataFolder, { recursive: true, force: true })
    return { code, errors: errors.join('') }
  }

  /** The log lines of one kind so far. */
  lines(msg: string): LogLine[] {
    return this.log.filter(line => line.msg === msg)
  }

  fetch(pathname: string, init: RequestInit & { key?: string | null } = {}): Promise<Response> {
    const { key = this.apiKey, headers, ...rest } = init
    const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
    return fetch(this.baseUrl + pathname, {
      ...rest,
      headers: { ...authorization, ...(headers as Record<string, string>) },
    })
  }

  post(pathname: string, body: unknown, init: RequestInit & { key?: string | null } = {}): Promise<Response> {
    return this.fetch(pathname, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
      headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
    })
  }

  /** The usage report of the first key. */
  async usage(query = ''): Promise<UsageReport> {
    const response = await this.fetch(`/v1/management/api-keys/${this.apiKeyId}/usage${query}`, {
      key: this.managementToken,
    })
    if (response.status !== 200) throw new Error(`usage report: ${response.status} ${await response.text()}`)
    return (await response.json()) as UsageReport
  }

  async writeConfig(text: string): Promise<void> {
    await writeFile(path.join(this.dataFolder, 'tollgate.yaml'), text)
  }

  /** kill -9: nothing is flushed, nothing is cleaned up. */
  async kill(): Promise<void> {
    const exited = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await exited
  }

  /** SIGTERM and wait. @returns the exit code */
  async terminate(): Promise<number | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.process.exitCode
    const exited = once(this.process, 'exit')
    this.process.kill('SIGTERM')
    const [code] = (await exited) as [number | null]
    return code
  }

  /** Ends the gateway and removes what `start` made for it. */
  async stop(): Promise<void> {
    await this.terminate()
    if (this.#owned.database) await this.database?.drop()
    if (this.#owned.folder) await rm(this.dataFolder, { recursive: true, force: true })
  }
}

async function launch(options: GatewayOptions, dataFolder: string, database: TestDatabase | undefined) {
  const configFile = path.join(dataFolder, 'tollgate.yaml')
  if (options.config !== undefined) await writeFile(configFile, options.config)
  const [file = process.execPath, ...before] = [...(options.wrapper ?? []), process.execPath]
  const child = spawn(file, [...before, MAIN, 'start'], {
    cwd: dataFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      TOLLGATE_DATA: dataFolder,
      ...(database && { DATABASE_URL: database.url }),
      ...options.environment,
    },
  })
  const log: LogLine[] = []
  const errors: string[] = []
  const output = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  output.on('line', line => {
    if (line.startsWith('{')) log.push(JSON.parse(line))
  })
  child.stderr?.on('data', (text: Buffer) => {
    errors.push(text.toString())
    log.push({ msg: 'stderr', text: text.toString() })
  })
  return { child, output, log, errors }
}

/** The parts of the report that tests look at. */
export interface UsageReport {
  api_key: Record<string, unknown>
  items: Record<string, unknown>[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
  summary: Record<string, unknown> & { total_requests: number; total_cost_decimal: string }
  breakdowns: Record<string, Record<string, unknown>[]>
}

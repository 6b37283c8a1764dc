import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { clientConfig, type DatabaseAddress, EMBEDDED_DATABASE, EMBEDDED_USER } from '../database.ts'
import { locateBinaries, type PostgresBinaries } from './binaries.ts'
import { clearOrphan } from './orphan.ts'
import { chooseLauncher, type Launcher } from './unprivileged.ts'

const POLL_MS = 20
/** Recovery after a crash replays the log first, which takes as long as there is log. */
const START_PATIENCE_MS = 120_000
const STOP_PATIENCE_MS = 30_000
const LOG_BYTES_MAX = 10 * 1024 * 1024
/** A socket's path may have 107 bytes on Linux, 103 on macOS. */
const SOCKET_PATH_BYTES_MAX = 103

const SETTINGS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  // One machine, no standby: what replication would need is not written.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // Queries here are short; compiling them costs more than running them.
  jit: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
}

export interface EmbeddedPostgresOptions {
  /** Folder of this Tollgate's data, already locked by the caller. The cluster lies in `postgres` below it. */
  readonly dataFolder: string
  /** The server ended without being asked to. */
  onExit(reason: string): void
  /** A slow step has begun: creating the cluster, recovering it. */
  onProgress(message: string): void
}

/**
 * A private Postgres server on the data folder: real binaries, all of Postgres' durability, reachable through a
 * socket that only this user may open.
 */
export class EmbeddedPostgres {
  readonly address: DatabaseAddress
  readonly #options: EmbeddedPostgresOptions
  readonly #cluster: string
  readonly #socketFolder: string
  #server: ChildProcess | undefined
  #isStopping = false

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options
    this.#cluster = path.join(options.dataFolder, 'postgres')
    this.#socketFolder = socketFolder(options.dataFolder)
    this.address = { socketFolder: this.#socketFolder }
  }

  /** Creates the cluster if there is none, cleans up after a kill, starts, and waits until queries are answered. */
  async start(): Promise<void> {
    const binaries = await locateBinaries()
    const launcher = await chooseLauncher(path.dirname(binaries.postgres), this.#options.dataFolder)
    if (!(await exists(this.#cluster))) await this.#createCluster(binaries, launcher)
    if (await clearOrphan(this.#cluster))
      this.#options.onProgress('stopped a database server that an earlier start left behind')
    await this.#prepareSocketFolder(launcher)
    await this.#spawn(binaries, launcher)
    await this.#awaitReady()
    await this.#createDatabase()
  }

  /** `stop` has been called: the server is not to be started again. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Ends connections, writes a checkpoint and waits for the end. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const server = this.#server
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill('SIGINT')
    const timer = setTimeout(() => server.kill('SIGQUIT'), STOP_PATIENCE_MS)
    await exited
    clearTimeout(timer)
  }

  /** In a folder beside, renamed when whole: a kill halfway leaves nothing that looks like a cluster. */
  async #createCluster({ initdb }: PostgresBinaries, launcher: Launcher): Promise<void> {
    this.#options.onProgress('creating the embedded database')
    const unfinished = `${this.#cluster}.new`
    await rm(unfinished, { recursive: true, force: true })
    await mkdir(unfinished, { recursive: true, mode: 0o700 })
    await launcher.own(unfinished)
    const args = [
      `--pgdata=${unfinished}`,
      `--username=${EMBEDDED_USER}`,
      // The socket's folder admits one user; a password beside it would protect nothing.
      '--auth=trust',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--locale=C.UTF-8',
      '--data-checksums',
      '--no-instructions',
    ]
    const command = launcher.command(initdb, args)
    const child = spawn(command.file, command.args, { ...command.options, stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr?.on('data', (text: Buffer) => (errors += text.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`The embedded database could not be created: ${errors.trim()}`)
    await rename(unfinished, this.#cluster)
  }

  async #prepareSocketFolder(launcher: Launcher): Promise<void> {
    await mkdir(this.#socketFolder, { recursive: true, mode: 0o700 })
    const { uid } = await stat(this.#socketFolder)
    const me = process.getuid?.() ?? uid
    if (uid !== me && me !== 0) throw new Error(`${this.#socketFolder} belongs to another user.`)
    await chmod(this.#socketFolder, 0o700)
    await launcher.own(this.#socketFolder)
    // Left by a killed server, which `clearOrphan` has made sure is gone.
    for (const name of ['.s.PGSQL.5432', '.s.PGSQL.5432.lock'])
      await rm(path.join(this.#socketFolder, name), { force: true })
  }

  get #logFile(): string {
    return path.join(this.#options.dataFolder, 'postgres.log')
  }

  async #spawn({ postgres }: PostgresBinaries, launcher: Launcher): Promise<void> {
    const size = await stat(this.#logFile).then(
      ({ size }) => size,
      () => 0,
    )
    if (size > LOG_BYTES_MAX) await rm(this.#logFile)
    const log = await open(this.#logFile, 'a', 0o600)
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: this.#socketFolder })
    const args = ['-D', this.#cluster, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const command = launcher.command(postgres, args)
    // Its own process group: a Ctrl-C in the terminal must reach us first, so that we can drain.
    const server = spawn(command.file, command.args, {
      ...command.options,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    })
    this.#server = server
    await once(server, 'spawn')
    await log.close()
    server.on('exit', (code, signal) => {
      if (!this.#isStopping)
        this.#options.onExit(`the database server ended (${signal ?? `code ${code}`}); see ${this.#logFile}`)
    })
  }

  async #awaitReady(): Promise<void> {
    const startedAtMs = performance.now()
    let hasReported = false
    for (;;) {
      if (this.#server?.exitCode !== null || this.#server.signalCode !== null) {
        throw new Error(`The embedded database did not start:\n${await this.#lastLogLines()}`)
      }
      if (await this.#answers()) return
      const waitedMs = performance.now() - startedAtMs
      if (waitedMs > START_PATIENCE_MS) throw new Error(`The embedded database is not ready; see ${this.#logFile}`)
      if (waitedMs > 2_000 && !hasReported) {
        hasReported = true
        this.#options.onProgress('waiting for the embedded database to recover')
      }
      await sleep(POLL_MS)
    }
  }

  async #answers(): Promise<boolean> {
    const client = this.#maintenanceClient()
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }

  async #createDatabase(): Promise<void> {
    const client = this.#maintenanceClient()
    await client.connect()
    try {
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [EMBEDDED_DATABASE])
      if (rowCount === 0) await client.query(`create database ${EMBEDDED_DATABASE}`)
    } finally {
      await client.end()
    }
  }

  #maintenanceClient(): pg.Client {
    const client = new pg.Client({ ...clientConfig(this.address), database: 'postgres' })
    client.on('error', () => {})
    return client
  }

  async #lastLogLines(): Promise<string> {
    const text = await readFile(this.#logFile, 'utf8').catch(() => '')
    return text.trimEnd().split('\n').slice(-10).join('\n')
  }
}

/** Where the server of a data folder listens; in the system's temporary folder when the path would be too long. */
export function socketFolder(dataFolder: string): string {
  const inside = path.join(path.resolve(dataFolder), 'run')
  if (Buffer.byteLength(path.join(inside, '.s.PGSQL.5432')) <= SOCKET_PATH_BYTES_MAX) return inside
  const name = createHash('sha256').update(path.resolve(dataFolder)).digest('hex').slice(0, 16)
  return path.join(tmpdir(), `tollgate-${name}`)
}

async function exists(target: string): Promise<boolean> {
  return stat(target).then(
    () => true,
    () => false,
  )
}
